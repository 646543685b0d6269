import { describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation';
import { initialWeights, profileManifest, stateDigest } from '#libs/step';
import { createEngine } from '../kernels/index.js';
import { seedOf, testManifest, testProfile, testSeed, testSegment, type SegmentChoice } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { MaskedProtocol } from '../verifier/masked-protocol.js';
import { ProofBytes } from '../verifier/source.js';
import { runVerifier, verifyStepProof } from '../verifier/verify.js';
import { KernelBackend } from './kernel-backend.js';
import { plainBackend } from './plain-backend.js';
import { proveSegment } from './prove.js';

const small = { dims: [3, 4, 2], batch: 2, steps: 64, seed: testSeed };
const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));

function proveAndVerify(choice: SegmentChoice) {
  const { plan, input } = testSegment(backend, choice);
  const result = proveSegment(backend, plan, input);
  const require = vi.spyOn(MaskedProtocol.prototype, 'require');
  const context = runVerifier(plan, result.statement, new Transcript(), new ProofBytes(result.proof));
  expect(require).toHaveBeenCalledTimes(plan.messages.constraints);
  require.mockRestore();
  return { plan, input, result, context };
}

describe('honest proofs are accepted', () => {
  it.each([1, 2, 4])('3-4-2, %i steps', (superblock) => {
    const manifest = testManifest({ superblock });
    const { result } = proveAndVerify({ manifest });
    expect(toHex(stateDigest(manifest, result.after.weights))).not.toBe(
      toHex(stateDigest(manifest, initialWeights(manifest))),
    );
  });

  it.each<[string, SegmentChoice]>([
    ['a separate witness tree', { variant: 'separate' }],
    ['a separate witness tree, two steps', { variant: 'separate', manifest: testManifest({ superblock: 2 }) }],
    ['three layers, three classes', { manifest: testManifest({ dims: [5, 7, 6, 3], superblock: 2 }) }],
    ['four layers', { manifest: testManifest({ dims: [4, 4, 8, 3, 2] }) }],
    ['ten classes', { manifest: testManifest({ dims: [6, 5, 10], batch: 4 }) }],
    ['sixteen classes', { manifest: testManifest({ dims: [3, 4, 16] }) }],
    ['profile fx1s', { manifest: profileManifest('fx1s', { ...small, e: 5 }) }],
    ['profile fx1w', { manifest: profileManifest('fx1w', { ...small, e: 3 }) }],
    [
      'a schedule',
      {
        manifest: testManifest({
          superblock: 4,
          m: [
            [0, 4],
            [1, 2],
            [2, 1],
          ],
        }),
      },
    ],
    ['null steps', { manifest: testManifest({ superblock: 4, steps: 6 }), index: 1 }],
    ['a batch of one', { manifest: testManifest({ batch: 1 }) }],
    ['26-byte digests', { profile: { ...testProfile, digestBytes: 26 } }],
    ['two random rows', { profile: { ...testProfile, randomRows: 2 } }],
  ])('%s', (_name, choice) => {
    proveAndVerify(choice);
  });

  it('a chain of three proofs, each starting from the joint tree of the one before', () => {
    const manifest = testManifest({ superblock: 2 });
    let choice: SegmentChoice = { manifest, index: 0 };
    let last: Uint8Array | undefined;
    for (let index = 0; index < 3; index++) {
      const { result, context } = proveAndVerify(choice);
      if (last) expect(toHex(context.weightsBefore)).toBe(toHex(last));
      last = context.weightsAfter;
      choice = { manifest, index: index + 1, before: result.after };
    }
  });

  it('is the same, byte for byte, in bigints', () => {
    const choice = { profile: { ...testProfile, m: 9, k1: 3, queries0: 3 } };
    const fast = testSegment(backend, choice);
    const slow = testSegment(plainBackend, choice);
    const proof = proveSegment(backend, fast.plan, fast.input).proof;
    expect(toHex(proveSegment(plainBackend, slow.plan, slow.input).proof)).toBe(toHex(proof));
  });
});

describe('what a prover refuses', () => {
  it('other weights than the commitment', () => {
    const { plan, input } = testSegment(backend);
    const before = { ...input.before, weights: initialWeights(testManifest({ seed: `0x${'22'.repeat(32)}` })) };
    expect(() => proveSegment(backend, plan, { ...input, before })).toThrow('STEP_STATEMENT');
    expect(() => proveSegment(backend, plan, { ...input, dataSeed: seedOf('another') })).toThrow('STEP_STATEMENT');
  });

  it('values that leave their range, naming step and tensor', () => {
    const weights = initialWeights(testManifest());
    for (const { values, name } of weights) values.fill(name === 'W1' ? 2n ** 24n - 1n : 2n ** 20n - 1n);
    const { plan, input } = testSegment(backend, { weights });
    expect(() => proveSegment(backend, plan, input)).toThrow('GUARD_VIOLATION');
  });
});

describe('the door', () => {
  it('accepts no unnamed profile', () => {
    const { plan, input } = testSegment(backend);
    const { proof, statement } = proveSegment(backend, plan, input);
    expect(() => verifyStepProof(proof, statement)).toThrow('STEP_PLAN');
    expect(() => verifyStepProof(proof, { ...statement, profile: '__proto__' })).toThrow('STEP_PLAN');
  });
});
