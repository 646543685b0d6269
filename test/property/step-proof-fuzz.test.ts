import { expect, it } from 'vitest';
import { verifyStepProof } from '#libs/zk/verifier';
import { fuzzStepProofs } from './step-proof-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 100,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 160);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_121);

it(`refuses ${count} mutants of seed ${seed} without a crash`, async () => {
  const report = await fuzzStepProofs(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan(0.98 * count);
}, 7_200_000);

it('finds a verifier that looks at the beginning of a proof alone', async () => {
  const report = await fuzzStepProofs(60, seed, undefined, (proof, statement) => {
    if (proof.length < 100) verifyStepProof(proof, statement);
  });
  expect(report.accepted).toBeGreaterThan(0);
}, 600_000);
