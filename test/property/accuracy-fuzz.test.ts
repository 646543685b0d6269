import { expect, it } from 'vitest';
import { verifyAccuracyProof } from '#libs/zk/verifier';
import { smallAccuracyProofs } from '#test/small-proof';
import { fuzzAccuracy } from './accuracy-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 100,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 160);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_128);

it(`refuses ${count} mutants of seed ${seed} without a crash`, async () => {
  const report = await fuzzAccuracy(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan(0.98 * count);
}, 7_200_000);

it('finds a verifier that takes any count', async () => {
  const { correct } = smallAccuracyProofs()[0].statement;
  const report = await fuzzAccuracy(160, seed, undefined, (proof, statement) => {
    verifyAccuracyProof(proof, { ...statement, correct });
  });
  expect(report.accepted).toBeGreaterThan(0);
}, 600_000);
