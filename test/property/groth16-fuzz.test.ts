import { expect, it } from 'vitest';
import { hasGroth16Tools } from '#test/groth16-tools';
import { fuzzGroth16 } from './groth16-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 100,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 120);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_121);

it.skipIf(!hasGroth16Tools)(
  `refuses ${count} mutants of Groth16 proofs of seed ${seed} without a crash`,
  async () => {
    const report = await fuzzGroth16(count, seed);
    expect(report.failures.slice(0, 3)).toEqual([]);
    expect(report.refused + report.taken).toBe(report.inputs);
    expect(report.refused).toBeGreaterThan(0.9 * count);
  },
  7_200_000,
);

it.skipIf(!hasGroth16Tools)(
  'finds a verifier that does not look at what was proved',
  async () => {
    const report = await fuzzGroth16(60, seed, undefined, () => undefined);
    expect(report.accepted).toBeGreaterThan(0);
  },
  600_000,
);
