import { expect, it } from 'vitest';
import { verifyBundle } from '#attestation';
import { CodedError } from '#attestation/base';
import { encodeBundle } from '#attestation/records';
import { tinyBundle } from '#test/tiny-bundle';
import { affirmedOf, mutants } from './mutants.js';

it('a bundle mutated 2,000 times by seed never affirms unless nothing binds the byte, and never crashes', async () => {
  const { bundle, job } = await tinyBundle();
  const bound = encodeBundle({ ...bundle, settlement: { transactions: [] } });
  const refusedBy = async (bytes: Uint8Array): Promise<string | null> => {
    try {
      const { tier } = await verifyBundle({ bundle: bytes, policy: job.policy });
      return tier === 'affirming' || tier === 'warning' ? null : tier;
    } catch (error) {
      if (error instanceof CodedError) return error.code;
      throw error;
    }
  };
  expect(await refusedBy(bound)).toBeNull();
  expect(await affirmedOf(mutants(bound, 2000), refusedBy)).toBe(0);
}, 300_000);
