import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { Rejection, to0x } from '#attestation/base';
import { jobIdOf } from '#attestation/records';
import { tinyBundle } from '#test/tiny-bundle';
import type { ControlPlaneApi } from '../api/api.js';
import type { Profile } from '../api/profile.js';
import type { CommittedResult } from './chain.js';
import { keepTerms } from './record.js';
import { agreeWithChain, fetchResult } from './result.js';

const word = (n: number): Uint8Array => new Uint8Array(32).fill(n);
const acknowledge = vi.fn();
const untilSettled = vi.fn();
const requireOpen = vi.fn();
const close = vi.fn();
let committed: CommittedResult;
vi.mock('./chain.js', () => ({
  openChain: () => ({
    escrow: { delivery: { acknowledge } },
    untilCommitted: async () => committed,
    untilSettled,
    requireOpen,
    close,
  }),
}));

const folder = mkdtempSync(join(tmpdir(), 'veritrain-result-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => vi.clearAllMocks());

const run = { last: word(1), delivery: word(2) };
const codeOf = (onChain: typeof run): string => {
  try {
    agreeWithChain(run, onChain);
    return 'agreed';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

it.each([
  ['the committed run', run, 'agreed'],
  ['other weights', { ...run, last: word(3) }, 'RESULT_COMMITMENT'],
  ['the same weights, delivered a second time under another key', { ...run, delivery: word(3) }, 'RESULT_DELIVERY'],
  [
    'the same weights, delivered where the chain knows of no delivery',
    { ...run, delivery: word(0) },
    'RESULT_DELIVERY',
  ],
])('before it pays, the client compares with %s', (_, onChain, code) => {
  expect(codeOf(onChain)).toBe(code);
});

/** A control plane that gives the result in two parts. */
function apiOf(ciphertext: Uint8Array, getBytes: ControlPlaneApi['getBytes']): ControlPlaneApi {
  async function* getParts() {
    yield ciphertext.subarray(0, 100);
    yield ciphertext.subarray(100);
  }
  return { getBytes, getParts: (): AsyncIterable<Uint8Array> => getParts() } as unknown as ControlPlaneApi;
}

it('a result is fetched only while the chain knows of its delivery', async () => {
  const { job, bundle, encoded, ciphertext } = await tinyBundle();
  const jobId = to0x(jobIdOf(job.spec));
  const profile = { recipientKey: join(folder, 'recipient.key') } as Profile;
  keepTerms(profile, jobId, job.terms, word(9));
  const api = apiOf(ciphertext, async () => encoded);
  const fetched = () => fetchResult(jobId, profile, job.policy, api);
  untilSettled.mockRejectedValue(new Rejection('ESCROW_ENDED', { expected: 'Settled', got: 'Voided', rule: 'test' }));

  committed = { last: bundle.run.last, delivery: word(3) };
  await expect(fetched()).rejects.toMatchObject({ code: 'RESULT_DELIVERY' });
  expect(acknowledge).not.toHaveBeenCalled();
  expect(untilSettled).not.toHaveBeenCalled();
  expect(close).toHaveBeenCalledOnce();

  committed = { last: bundle.run.last, delivery: bundle.run.delivery };
  await expect(fetched()).rejects.toMatchObject({ code: 'ESCROW_ENDED' });
  expect(acknowledge).toHaveBeenCalledOnce();
});

it('does not wait for proofs of a job whose escrow has ended', async () => {
  const { job, ciphertext } = await tinyBundle();
  const jobId = to0x(jobIdOf(job.spec));
  const profile = { recipientKey: join(folder, 'recipient.key') } as Profile;
  keepTerms(profile, jobId, job.terms, word(9));
  const pending = new Rejection('JOB_BUNDLE_PENDING', { expected: 'all proofs', got: '1 of 2', rule: 'test' });
  const api = apiOf(ciphertext, () => Promise.reject(pending));
  const ended = new Rejection('ESCROW_ENDED', { expected: 'Settled', got: 'Voided', rule: 'test' });
  requireOpen.mockResolvedValueOnce(undefined).mockRejectedValueOnce(ended);
  const fetched = fetchResult(jobId, profile, job.policy, api);
  await expect(fetched).rejects.toMatchObject({ code: 'ESCROW_ENDED' });
  expect(requireOpen).toHaveBeenCalledTimes(2);
});
