/** What an operator is told of the stake that stays in the contract when a job is over. */
import { expect, it } from 'vitest';
import { encodeTerms } from '#attestation/records';
import { marketTerms } from '#test/escrow-market';
import { collectionOf } from './collection.js';

it.each([
  { what: 'its stake was on', isStaked: true, said: [['stake-kept', { wei: '7' }]] },
  { what: 'another account trained', isStaked: false, said: [] },
])('a job that $what leaves the disk, with a word of the stake that it leaves', async ({ isStaked, said }) => {
  const [events, removed]: unknown[][] = [[], []];
  const job = { proofs: [], told: [], terms: encodeTerms(marketTerms({})), isStaked };
  const parts = {
    kept: { find: () => job, remove: (jobId: string) => removed!.push(jobId) },
    escrow: { collect: async () => 'end', freeStake: async () => 7n },
    watch: { event: (...event: unknown[]) => events!.push(event), failure: () => undefined },
  } as unknown as Parameters<typeof collectionOf>[0];
  const { collect } = collectionOf(parts, { hasJob: () => false, cancelJob: () => undefined });
  expect(await collect('0x01')).toBe('end');
  expect([removed, events]).toEqual([['0x01'], said]);
});
