import { expect, it } from 'vitest';
import { fuzzAttestation } from './attestation-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 100,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 1500);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_121);

it(`refuses ${count} mutants of seed ${seed} without a crash`, async () => {
  const report = await fuzzAttestation(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBe(count);
}, 7_200_000);
