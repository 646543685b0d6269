import { expect, it } from 'vitest';
import { verifyBundle } from '#attestation';
import { fuzzBundles } from './bundle-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 100,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 400);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_121);

it(`affirms none of ${count} mutants of bundles of seed ${seed}, save where nothing binds, without a crash`, async () => {
  const report = await fuzzBundles(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan(0.9 * count);
}, 7_200_000);

it.each(['BUNDLE_CHAIN', 'BUNDLE_SEAL'])(
  'finds a verifier that forgets everything but %s',
  async (code) => {
    const report = await fuzzBundles(150, seed, undefined, async (request) => {
      const { tier, checks } = await verifyBundle(request);
      const isForgotten = checks.every((check) => check.code !== code || check.status === 'met');
      return { tier: isForgotten && tier === 'contraindicated' ? 'warning' : tier };
    });
    expect(report.accepted).toBeGreaterThan(0);
  },
  600_000,
);
