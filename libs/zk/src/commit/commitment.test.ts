import { describe, expect, it } from 'vitest';
import { initialWeights } from '#libs/step';
import { commitData, commitWeights } from '../prover/commitments.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { plainBackend } from '../prover/plain-backend.js';
import { derivePlanUnchecked } from '../relation/plan.js';
import { seedOf, testExamples, testManifest, testProfile } from '../testing/segments.js';
import { createCommitter } from './committer.js';
import { endingsOf } from './endings.js';
import { createEngine } from './kernels/index.js';
import { borderSeed, dataSeed, proverSecret } from './seeds.js';

const manifest = testManifest({ superblock: 2 });
const plan = derivePlanUnchecked(manifest, testProfile, 'separate');
const committer = createCommitter(plan);

describe('a committer', () => {
  it('makes the commitments that a prover opens, in bigints too', () => {
    const weights = initialWeights(manifest);
    expect(committer.weights(weights, seedOf('w'))).toEqual(
      commitWeights(plainBackend, plan, weights, seedOf('w')).commitment,
    );
    const examples = testExamples(manifest, 1);
    expect(committer.data(examples, seedOf('d'))).toEqual(
      commitData(plainBackend, plan, examples, seedOf('d')).commitment,
    );
  });

  it('gives the same bytes again, and others under another seed', () => {
    const weights = initialWeights(manifest);
    const first = committer.weights(weights, seedOf('w'));
    expect(committer.weights(weights, seedOf('w'))).toEqual(first);
    expect(committer.weights(weights, seedOf('x')).root).not.toEqual(first.root);
  });
});

describe('a leaf', () => {
  const backend = new KernelBackend(createEngine({ rowLogMax: testProfile.m }));
  const endings = (dims: number[], seed: string): Buffer => {
    const { shape, profile } = derivePlanUnchecked(testManifest({ dims }), testProfile, 'separate');
    const opened = commitWeights(backend, { shape, profile }, initialWeights(shape.manifest), seedOf(seed));
    expect(opened.matrix.rows).toBe(dims[0] === 3 ? 1 : 3);
    const leaves = 2 ** (profile.m + profile.logBlowup);
    const all = Buffer.from(endingsOf(backend, opened.endings, 0, leaves)!);
    expect(all.length).toBe(32 * leaves);
    expect(Buffer.from(endingsOf(backend, opened.endings, 5, 7)!)).toEqual(all.subarray(32 * 5, 32 * 12));
    return all;
  };

  it('of one symbol is hidden by an ending from the seed', () => {
    const [a, b] = [endings([3, 4, 2], 'a'), endings([3, 4, 2], 'b')];
    const all = Array.from({ length: a.length / 32 }, (_, i) =>
      [a, b].map((from) => from.toString('hex', 32 * i, 32 * i + 32)),
    );
    expect(new Set(all.flat()).size).toBe((2 * a.length) / 32);
  });

  it('of several symbols ends in zeros: their random coefficients hide it', () => {
    expect(endings([64, 64, 2], 'a').every((byte) => byte === 0)).toBe(true);
  });
});

describe('the seeds of a job', () => {
  const secret = { jobId: seedOf('job'), dataKey: seedOf('key') };
  const others = [
    { ...secret, jobId: seedOf('another job') },
    { ...secret, dataKey: seedOf('another key') },
  ];

  it('differ by border, job, key and purpose', () => {
    const all = [
      borderSeed(manifest, null, 0),
      ...[secret, ...others].flatMap((one) => [1, 2].map((border) => borderSeed(manifest, one, border))),
      ...[0, 1].flatMap((superblock) => [dataSeed(secret.dataKey, superblock), dataSeed(seedOf('z'), superblock)]),
      ...[secret, ...others].map(proverSecret),
    ].map((seed) => Buffer.from(seed).toString('hex'));
    expect(new Set(all).size).toBe(all.length);
  });

  it('are public for the start alone', () => {
    expect(borderSeed(manifest, secret, 0)).toEqual(borderSeed(manifest, null, 0));
    expect(() => borderSeed(manifest, null, 1)).toThrow(RangeError);
  });
});
