import { expect, it } from 'vitest';
import { appraise } from '#attestation';
import { loadSamples } from '#test/samples';
import { fuzzAttestation } from './attestation-fuzz.js';

/**
 * VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 100,000. Without real samples
 * only the readers are attacked, which take more of what is mutated.
 */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 1500);
const haveSamples = loadSamples().length > 0;
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_121);

it(`refuses ${count} mutants of seed ${seed} without a crash`, async () => {
  const report = await fuzzAttestation(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan((haveSamples ? 0.9 : 0.7) * count);
}, 7_200_000);

it.skipIf(!haveSamples)(
  'finds a verifier that takes what does not verify, and one that crashes',
  async () => {
    const lax = await fuzzAttestation(200, seed, undefined, async (request) => {
      await appraise(request);
      return { authenticity: 'authentic' };
    });
    expect(lax.accepted).toBeGreaterThan(0);
    const broken = await fuzzAttestation(200, seed, undefined, () => Promise.reject(new TypeError('planted')));
    expect(broken.crashes).toBeGreaterThan(0);
  },
  600_000,
);
