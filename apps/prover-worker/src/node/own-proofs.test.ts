/** Kept proofs that do not hold are made again; what this machine failed at says nothing of them. */
import { expect, it } from 'vitest';
import { ConfigurationError } from '#attestation/base';
import type { StakedRun } from '#libs/node';
import { openOwnProofs } from './own-proofs.js';

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
