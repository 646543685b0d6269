import { describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import {
  initialWeights,
  parseManifest,
  profileManifest,
  stateDigest,
  stepReference,
  unscaledLimbs,
  type Examples,
  type Manifest,
} from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import type { Profile } from '../commit/params.js';
import { seedOf, testManifest, testProfile, testSeed, testSegment, type SegmentChoice } from '../testing/segments.js';
import { Transcript } from '../transcript/transcript.js';
import { MaskedProtocol } from '../verifier/masked-protocol.js';
import { ProofBytes } from '../verifier/source.js';
import { runVerifier, verifyStepProof } from '../verifier/verify.js';
import { KernelBackend } from './kernel-backend.js';
import { plainBackend } from './plain-backend.js';
import { proveSegment } from './prove.js';

/** Logits with more fraction bits than errors. */
function roundedErrors(): Manifest {
  const manifest = testManifest({ loss: 'mse', e: [8, 9] });
  return parseManifest({ ...manifest, a: [8, 6, 9], g: [10, 6] });
}

/** Steps so many and so large, by the schedule's largest, that limbs could wrap in their scaled lookup alone. */
function unscaledLimbsManifest(): Manifest {
  const manifest = testManifest({
    dims: [3, 4, 2],
    batch: 64,
    superblock: 16,
    m: [
      [0, 1],
      [32, 255],
    ],
  });
  const limbs = unscaledLimbs(manifest);
  expect(limbs.flatMap((layer) => Object.values(layer) as boolean[])).toContain(true);
  return manifest;
}

const blake3Profile: Profile = { ...testProfile, hash: 'blake3' };
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

describe('the integers that are proved', () => {
  it.each<[string, Manifest]>([
    ['mse', testManifest({ loss: 'mse', batch: 3, superblock: 2, dims: [3, 4, 3] })],
    ['mse with rounded errors', roundedErrors()],
    ['softmax, five samples', testManifest({ batch: 5, superblock: 2 })],
    ['one layer', testManifest({ dims: [6, 4], batch: 3 })],
  ])('are those of the reference: %s', (_name, manifest) => {
    const { result, input } = proveAndVerify({ manifest });
    let weights = initialWeights(manifest);
    for (let t = 0; t < manifest.superblock; t++) {
      weights = stepReference(manifest, weights, batchOf(manifest, input.examples, t), t).weights;
    }
    expect(toHex(stateDigest(manifest, result.after.weights))).toBe(toHex(stateDigest(manifest, weights)));
  });
});

function batchOf({ batch, dims }: Manifest, { features, labels }: Examples, t: number): Examples {
  const width = batch * dims[0]!;
  return {
    count: batch,
    features: features.slice(t * width, (t + 1) * width),
    labels: labels.slice(t * batch, (t + 1) * batch),
  };
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
    ['a batch that is no power of two', { manifest: testManifest({ dims: [3, 4, 3], batch: 3 }) }],
    ['two steps of five samples', { manifest: testManifest({ batch: 5, superblock: 2, m: [[0, 2]] }) }],
    ['one layer', { manifest: testManifest({ dims: [5, 3] }) }],
    ['mse', { manifest: testManifest({ loss: 'mse' }) }],
    ['mse, two steps, three classes', { manifest: testManifest({ loss: 'mse', dims: [5, 4, 3], superblock: 2 }) }],
    ['mse in one layer', { manifest: testManifest({ loss: 'mse', dims: [5, 3], batch: 3 }) }],
    ['mse with rounded errors', { manifest: roundedErrors() }],
    ['errors of 14 bits', { manifest: testManifest({ gbits: 14 }) }],
    ['mse, errors of 13 bits', { manifest: testManifest({ loss: 'mse', gbits: 13 }) }],
    ['limbs looked up unscaled', { manifest: unscaledLimbsManifest() }],
    ['26-byte digests', { profile: { ...testProfile, digestBytes: 26 } }],
    ['two out-of-domain points', { profile: { ...testProfile, oodPoints: 2 } }],
    ['two out-of-domain points, separate', { profile: { ...testProfile, oodPoints: 2 }, variant: 'separate' }],
    ['BLAKE3', { profile: blake3Profile }],
    ['BLAKE3, a separate witness tree', { profile: blake3Profile, variant: 'separate' }],
    ['BLAKE3, inputs first', { profile: { ...blake3Profile, inputsFirst: true } }],
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

  // Codewords 2^4 times as long as their rows are dropped, and with them rows of Ω.
  it.each([
    ['keccak', 1],
    ['keccak', 4],
    ['blake3', 1],
  ] as const)('is the same, byte for byte, in bigints, on %s, blowup 2^%i', (hash, logBlowup) => {
    const choice = { profile: { ...testProfile, hash, logBlowup, m: 9, k1: 3, queries0: 3 } };
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
