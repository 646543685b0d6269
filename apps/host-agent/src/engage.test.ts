import { beforeEach, describe, expect, it } from 'vitest';
import type { Terms } from '#attestation/records';
import type { JobState } from '#libs/settlement';
import { engage, type Engaged, type Engagement } from './engage.js';

const word = new Uint8Array(32).fill(1);
const key = new Uint8Array(20).fill(2);
const terms = { snpPolicy: new Uint8Array(32) } as Terms;
const session = {
  ...{ release: { key }, releaseSignature: word, evidence: word, attestOver: async () => word },
  appraisals: [1, 2].map((n) => ({ account: key, appraisal: { notAfter: n }, appraisalSignature: word })),
} as unknown as Engaged;

let state: JobState;
let isBound: boolean;
let shown: unknown[];
const sent = (hash: string) => ({ txHash: hash, blockNumber: 1 });
const engagement = {
  policies: new Map(),
  withStake: (work: () => Promise<unknown>) => work(),
  escrow: {
    job: async () => ({ state }),
    accept: async () => sent('0xa'),
    async start(...said: unknown[]) {
      shown.push(said);
      return sent('0xb');
    },
    keys: {
      standing: async () => ({ isBound }),
      async bind(...said: unknown[]) {
        shown.push(said);
        return sent('0xc');
      },
    },
  },
} as unknown as Engagement;
beforeEach(() => {
  [state, isBound, shown] = ['Open', true, []];
});
const calls = async () => (await engage(terms, session, engagement)).map(({ call }) => call);

describe('S-H4 the keys of a job', () => {
  it('S-H4 starts it with the release and all appraisals', async () => {
    expect(await calls()).toEqual(['accept', 'start']);
    expect(shown).toEqual([
      [
        terms,
        { release: { key }, signature: word },
        [1, 2].map((n) => ({ appraisal: { notAfter: n }, attestor: key, signature: word })),
      ],
    ]);
  });

  it('S-H4 binds that of a session after the first, once', async () => {
    [state, isBound] = ['Started', false];
    expect(await calls()).toEqual(['bind']);
    expect(shown).toHaveLength(1);
    isBound = true;
    expect(await calls()).toEqual([]);
  });

  it('S-H4 binds its own where another machine of the account was faster', async () => {
    [state, isBound] = ['Accepted', false];
    expect(await calls()).toEqual(['accept', 'start', 'bind']);
  });

  it('are no matter any more once a run is committed', async () => {
    [state, isBound] = ['Committed', false];
    expect(await calls()).toEqual([]);
  });

  it.each<[JobState, string]>([
    ['None', 'HOST_ESCROW_MISSING'],
    ['Resigned', 'HOST_ESCROW_ENDED'],
    ['Unsealed', 'HOST_ESCROW_ENDED'],
  ])('of one that is %s are refused with %s', async (now, code) => {
    state = now;
    await expect(calls()).rejects.toMatchObject({ code });
  });
});
