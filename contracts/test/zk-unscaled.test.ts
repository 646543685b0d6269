/**
 * Every kind of limb with its second lookup on chain, also those that no small manifest needs (libs/zk/SPEC.md §13.3).
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Manifest } from '#libs/step';
import { createEngine, KernelBackend } from '#libs/zk';
import { testManifest, testProfile } from '../../libs/zk/src/testing/segments.js';
import { openStepVerifier, type StepVerifierOnChain } from './zk-chain.js';
import { sealSegment } from './zk-seal.js';

vi.mock('#libs/step', async (original) => ({
  ...(await original<object>()),
  unscaledLimbs: ({ dims }: Manifest) =>
    dims.slice(1).map(() => ({ forward: true, backward: true, weight: true, bias: true })),
}));

let onChain: StepVerifierOnChain;
beforeAll(async () => {
  onChain = await openStepVerifier();
});
afterAll(() => onChain?.stop());
const backend = new KernelBackend(createEngine({ rowLogMax: 16 }));

it.each([
  ['softmax-ce', 2],
  ['mse', 2],
  ['softmax-ce', 8],
  ['mse', 8],
] as const)('%s, %i steps', async (loss, unitSteps) => {
  const choice = { profile: { ...testProfile, unitSteps }, manifest: testManifest({ superblock: 2, loss }) };
  const { plan, fields, digest } = sealSegment(backend, choice);
  const kinds = plan.lookups.blocks.map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['lu', 'lpu', 'lLu', 'lWu', 'lbu']));
  expect(await onChain.judge(fields, digest)).toBe('accepted');
  const proof = Uint8Array.from(fields.proof);
  proof[200]! ^= 1;
  expect(await onChain.judge({ ...fields, proof }, digest)).not.toBe('accepted');
});
