/** Proofs of several segments with borders between (libs/zk/SPEC.md §20). */
import { describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { stateDigest, stepReference, superblockOfStep, type Examples, type Manifest } from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import { dataDigestOf, weightsDigestOf } from '../commit/commitment.js';
import type { Profile } from '../commit/params.js';
import { derivePlanUnchecked } from '../relation/plan.js';
import { codeOfProof } from '../testing/lies.js';
import { testManifest, testProfile, testSegment, type SegmentChoice } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { MaskedProtocol } from '../verifier/masked-protocol.js';
import { ProofBytes } from '../verifier/source.js';
import { runVerifier } from '../verifier/verify.js';
import { KernelBackend } from './kernel-backend.js';
import { plainBackend } from './plain-backend.js';
import { proveSegment } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));

const level = { k: 2, logBlowup: 3, multiplicity: 2, queries: 5, grind: 2, grindFold: 2 };
const unit = (unitSteps: number, more: Partial<Profile> = {}): Profile => ({ ...testProfile, unitSteps, ...more });

function proveAndVerify(choice: SegmentChoice) {
  const { plan, input } = testSegment(backend, choice);
  const result = proveSegment(backend, plan, input);
  const require = vi.spyOn(MaskedProtocol.prototype, 'require');
  const context = runVerifier(plan, result.statement, new Transcript(), new ProofBytes(result.proof));
  expect(require).toHaveBeenCalledTimes(plan.messages.constraints);
  require.mockRestore();
  return { plan, input, result, context };
}

function batchAt({ batch, dims, superblock }: Manifest, set: Examples, block: number, t: number): Examples {
  const [width, first] = [dims[0]!, (block * superblock + t) * batch];
  return {
    count: batch,
    features: set.features.slice(first * width, (first + batch) * width),
    labels: set.labels.slice(first, first + batch),
  };
}

describe('proofs of several segments', () => {
  it.each<[string, SegmentChoice]>([
    ['four of one step', { profile: unit(4) }],
    ['four of two steps, later in the job', { profile: unit(8), manifest: testManifest({ superblock: 2 }), index: 1 }],
    ['a separate tree', { profile: unit(8), manifest: testManifest({ superblock: 2 }), variant: 'separate' }],
    ['three layers', { profile: unit(4), manifest: testManifest({ dims: [5, 7, 6, 3], superblock: 1 }) }],
    ['mse', { profile: unit(4), manifest: testManifest({ loss: 'mse', dims: [5, 4, 3] }) }],
    ['one layer', { profile: unit(4), manifest: testManifest({ dims: [5, 3] }) }],
    ['a batch of three', { profile: unit(4), manifest: testManifest({ batch: 3, superblock: 1 }) }],
    ['null steps', { profile: unit(8), manifest: testManifest({ superblock: 2, steps: 11 }), index: 1 }],
    ['inputs first', { profile: unit(4, { inputsFirst: true }), manifest: testManifest({ superblock: 1 }) }],
    [
      'three levels',
      {
        profile: unit(8, { oodPoints: 2, inputsFirst: true, deeper: [level, { ...level, k: 1 }] }),
        variant: 'separate',
        manifest: testManifest({ superblock: 2 }),
      },
    ],
  ])('are accepted, with the weights of the reference: %s', (_name, choice) => {
    const { plan, input, result } = proveAndVerify(choice);
    const { manifest } = plan.shape;
    const { steps, segmentVars } = plan.shape;
    expect(segmentVars).toBeGreaterThan(0);
    let weights = input.before.weights;
    for (let t = 0; t < steps; t++) {
      const step = input.statement.index * steps + t;
      if (step >= manifest.steps) break;
      const block = superblockOfStep(manifest, step, input.statement.recordCount);
      weights = stepReference(
        manifest,
        weights,
        batchAt(manifest, input.examples, block, step % manifest.superblock),
        step,
      ).weights;
    }
    expect(toHex(stateDigest(manifest, result.after.weights))).toBe(toHex(stateDigest(manifest, weights)));
  });
});

describe('a proof of several segments', () => {
  it('is the same by bigints and by kernels', () => {
    const choice: SegmentChoice = {
      profile: unit(4, { m: 9, k1: 3, queries0: 3, oodPoints: 2, inputsFirst: true }),
      manifest: testManifest({ superblock: 2, steps: 8 }),
      superblocks: 2,
    };
    const [fast, slow] = [backend, plainBackend].map((own) => {
      const { plan, input } = testSegment(own, choice);
      return toHex(proveSegment(own, plan, input).proof);
    });
    expect(slow).toBe(fast);
  });

  it('is bound to every member of its statement', () => {
    const choice = { profile: unit(8), manifest: testManifest({ superblock: 2, steps: 32 }), index: 1 } as const;
    const { plan, input } = testSegment(backend, choice);
    const { proof, statement } = proveSegment(backend, plan, input);
    const codes = [
      statement,
      { ...statement, index: 2 },
      { ...statement, index: 4 },
      { ...statement, recordCount: statement.recordCount - 4 },
      { ...statement, recordCount: statement.recordCount + 8 },
      { ...statement, dataPath: [statement.datasetRoot] },
      { ...statement, outerDigest: statement.datasetRoot },
      { ...statement, before: statement.after },
    ].map((stated) => codeOfProof(plan, stated, proof));
    expect(codes).toEqual([
      'accepted',
      'STEP_POW',
      'STEP_STATEMENT',
      'STEP_POW',
      'STEP_STATEMENT',
      'MERKLE_PATH',
      'STEP_POW',
      'STEP_POW',
    ]);
  });

  it('has a plan and a data commitment of its own', () => {
    const plans = [1, 2, 4, 8].map((unitSteps) =>
      derivePlanUnchecked(testManifest({ superblock: 2 }), unit(unitSteps), 'separate'),
    );
    const commitment = { root: new Uint8Array(32), ood: new Uint8Array(32) };
    expect(new Set(plans.map(({ digest }) => toHex(digest))).size).toBe(3);
    expect(new Set(plans.map((plan) => toHex(dataDigestOf(commitment, plan)))).size).toBe(3);
    expect(new Set(plans.map((plan) => toHex(weightsDigestOf(commitment, plan)))).size).toBe(1);
  });
});
