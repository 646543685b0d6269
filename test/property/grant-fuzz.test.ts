import { expect, it } from 'vitest';
import { decodeTerms, parseJobSpec } from '#attestation/records';
import { fuzzGrants } from './grant-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 100,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 600);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_121);

it(`A-C1 N1 an enclave takes none of ${count} mutants of grants of seed ${seed}, and does not crash`, async () => {
  const report = await fuzzGrants(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan(0.8 * count);
}, 7_200_000);

it('finds an enclave that reads a grant without asking who signed it', async () => {
  const report = await fuzzGrants(300, seed, undefined, (real) => async (request) => {
    if (request.type !== 'job') return real(request);
    return [parseJobSpec(request.spec), decodeTerms(request.terms)];
  });
  expect(report.accepted).toBeGreaterThan(0);
}, 600_000);

it('finds an enclave whose lease is prolonged by anybody', async () => {
  const report = await fuzzGrants(300, seed, undefined, (real) => async (request) => {
    if (request.type !== 'renew') return real(request);
    return null;
  });
  expect(report.accepted).toBeGreaterThan(0);
}, 600_000);
