/**
 * Kept proofs that do not hold are made again; what this machine failed at says nothing of them. A proof of others that cannot be
 * had keeps none behind it away.
 */
import { expect, it, vi } from 'vitest';
import { CollateralError, ConfigurationError } from '#attestation/base';
import type { StakedRun } from '#libs/node';
import { openOwnProofs } from './own-proofs.js';

const store = vi.hoisted(() => ({ gone: [] as number[] }));
vi.mock('#libs/node', async (original) => ({
  ...(await original<object>()),
  fetchProof({ index }: { index: number }) {
    if (!store.gone.includes(index)) return Promise.resolve({ bundle: new Uint8Array(), document: '' });
    throw new CollateralError('STORE_UNREACHABLE', { expected: 'a blob', got: 'none', rule: 'test' });
  },
}));

const damaged = new ConfigurationError('KEPT_JOB_DAMAGED', { expected: 'a whole file', got: 'a part', rule: 'test' });

it.each([
  ['is damaged', damaged, [0]],
  ['cannot be read now', Object.assign(new Error('too many open files'), { code: 'EMFILE' }), []],
])('a kept proof that %s', async (_, failure, expected) => {
  const dropped: number[] = [];
  let reads = 0;
  const kept = {
    find: () => ({ proofs: [0] }),
    proof() {
      reads += 1;
      throw failure;
    },
    dropProof: (_jobId: string, index: number) => void dropped.push(index),
  };
  const parts = { kept, settings: { proves: true } } as unknown as Parameters<typeof openOwnProofs>[1];
  const own = openOwnProofs({ jobId: '0x00' } as unknown as StakedRun & { jobId: string }, parts, 1000);
  for (let look = 0; look < 2; look++) await own.dropForeign([0]);
  expect(dropped).toEqual(expected);
  expect(reads).toBe(expected.length === 0 ? 2 : 1);
});

/** A control plane that has the proofs of three segments by others, and claims that anybody may insist on. */
function nodeWith(proves: boolean) {
  const proofs: number[] = [];
  const kept = {
    find: () => ({ proofs }),
    keepProof: ({ claim }: { claim: { index: number } }) => void proofs.push(claim.index),
    markTold: () => undefined,
  };
  const send = async (_name: string, said: { countOnly: boolean; holding: number[]; insists: boolean }) => {
    const index = [0, 1, 2].find((one) => !said.holding.includes(one));
    const elsewhere = index === undefined ? null : { index, blob: `0x${'00'.repeat(32)}`, document: '' };
    if (said.insists && !said.countOnly && index !== undefined) throw new Error(`claims ${index}`);
    return { task: null, elsewhere, left: 0 };
  };
  const parts = { kept, controlPlane: { send }, settings: { proves }, nodeId: 'node' };
  const job = { jobId: '0x00' } as unknown as StakedRun & { jobId: string };
  return { proofs, own: openOwnProofs(job, parts as unknown as Parameters<typeof openOwnProofs>[1], 10 ** 9) };
}

it('passes over a proof of others that is gone where it proves nothing itself, and asks for it again', async () => {
  store.gone = [0];
  const { proofs, own } = nodeWith(false);
  const kept = [];
  for (let ask = 0; ask < 4; ask++) kept.push((await own.next([0, 1, 2])).task === null && proofs.length);
  expect(kept).toEqual([0, 1, 2, 2]);
  expect(proofs).toEqual([1, 2]);
  store.gone = [];
  expect(await own.next([0, 1, 2])).toMatchObject({ kept: true });
  expect(proofs).toEqual([1, 2, 0]);
});

it('claims a proof of others that is gone where it proves', async () => {
  store.gone = [0];
  const { own } = nodeWith(true);
  expect(await own.next([0, 1, 2])).toMatchObject({ kept: false });
  await expect(own.next([0, 1, 2])).rejects.toThrow('claims 0');
});
