/** Every kind of limb with its second lookup, also those that no small manifest needs. */
import { expect, it, vi } from 'vitest';
import type { Manifest } from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import { testManifest, testSegment } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes } from '../verifier/source.js';
import { runVerifier } from '../verifier/verify.js';
import { KernelBackend } from './kernel-backend.js';
import { proveSegment } from './prove.js';

vi.mock('#libs/step', async (original) => ({
  ...(await original<object>()),
  unscaledLimbs: ({ dims }: Manifest) =>
    dims.slice(1).map(() => ({ forward: true, backward: true, weight: true, bias: true })),
}));

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));

it.each(['softmax-ce', 'mse'] as const)('%s', (loss) => {
  const { plan, input } = testSegment(backend, { manifest: testManifest({ superblock: 2, loss }) });
  const kinds = plan.lookups.blocks.map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['lu', 'lpu', 'lLu', 'lWu', 'lbu']));
  const { proof, statement } = proveSegment(backend, plan, input);
  expect(() => runVerifier(plan, statement, new Transcript(), new ProofBytes(proof))).not.toThrow();
});
