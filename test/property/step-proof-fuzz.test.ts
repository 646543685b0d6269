import { expect, it } from 'vitest';
import { fuzzStepProofs } from './step-proof-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 10,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 160);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_121);

it(`refuses ${count} mutants of seed ${seed} without a crash`, () => {
  const report = fuzzStepProofs(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan(0.98 * count);
}, 7_200_000);
