import { describe, expect, it } from 'vitest';
import { initialWeights } from '#libs/step';
import { plainBackend } from '../prover/plain-backend.js';
import { commitData, commitWeights } from '../prover/commitments.js';
import { derivePlanUnchecked } from '../relation/plan.js';
import { seedOf, testExamples, testManifest, testProfile } from '../testing/segments.js';
import { createCommitter } from './committer.js';
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
