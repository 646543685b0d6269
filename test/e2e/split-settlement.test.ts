/**
 * A segment whose proof takes two transactions, discharged by whoever was killed anywhere between them: real training, real
 * proofs of little strength, the contracts of the deployment but for the floor of plans.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { specDigestOf, stepSpecOf, type Terms } from '#attestation/records';
import { splitSelector, stepSealOf, type SettlementClient, type SplitSeal } from '#libs/settlement';
import { duties, engage, marketTerms, runOf } from '../support/escrow-market.js';
import { provableJob, sealTrained, trainRun, type ProvableJob, type TrainedRun } from '../support/provable-run.js';
import { openSplitMarket, weakPlan, type SplitMarket } from '../support/split-market.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const day = 86_400;
const segments = 2;
let market: SplitMarket;
let job: ProvableJob;
let run: TrainedRun;
let terms: Terms;
let first: SplitSeal;
beforeAll(async () => {
  market = await openSplitMarket();
  job = provableJob(market.deployment, 'separate', segments, weakPlan);
  run = trainRun(job);
  terms = marketTerms({
    ...{ specDigest: specDigestOf(job.spec), initialWeights: job.prepared.genesisDigest, segments },
    ...{ dutySelectors: [splitSelector], windows: { ...duties, prove: 2 * day, provePer: day } },
  });
  await engage(market, terms);
  await provider().commit(terms, runOf(run.borders));
  first = sealed(0);
});
afterAll(() => market?.stop());

/** A process of the provider's that was started just now. */
const provider = (): SettlementClient => market.process('provider');

function sealed(index: number): SplitSeal {
  const { proof, statement } = sealTrained(job, provider(), terms, run, index);
  const segment = { statement, plan: job.plan, proof };
  return stepSealOf(provider().domain, terms, stepSpecOf(job.spec), segment) as SplitSeal;
}

/** Undoes what a test did to the chain. */
async function apart(test: () => Promise<unknown>): Promise<void> {
  const before: unknown = await market.chain.send('evm_snapshot', []);
  try {
    await test();
  } finally {
    await market.chain.send('evm_revert', [before]);
  }
}

const discharge = (seal = first, segment = 0): Promise<unknown> =>
  provider().duties.discharge(terms, segment, run.borders, seal);

/** How many transactions a new process sends to discharge the first segment. */
async function sentBy(call: () => Promise<unknown> = discharge): Promise<number> {
  const before = await market.sent('provider');
  await call();
  return (await market.sent('provider')) - before;
}

const isProved = (): Promise<boolean> => provider().duties.isProved(terms, 0);

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: { code?: string }) => error.code ?? String(error),
  );

describe('a segment proved in two transactions', () => {
  it('takes three with its discharge, is sent once, and is paid', () =>
    apart(async () => {
      expect(await sentBy()).toBe(3);
      expect(await isProved()).toBe(true);
      expect(await sentBy()).toBe(0);
      expect(await provider().duties.transactionsOfProofs(terms)).toHaveLength(3);
      const second = sealed(1);
      expect(await sentBy(() => discharge(second, 1))).toBe(3);
      expect(await provider().duties.transactionsOfProofs(terms)).toHaveLength(6);
      expect(await provider().duties.gasOfProofs(terms)).toBeGreaterThan(2_000_000);
      await market.pass(3 * day);
      await provider().finalize(terms);
      expect((await provider().job(terms)).state).toBe('Settled');
    }));

  it.each<[string, number, () => Promise<void>]>([
    ['the first', 2, () => market.part('provider', 'begin', first)],
    ['the second', 1, async () => (await begin(), market.part('provider', 'finish', first))],
  ])('goes on behind %s, without sending it again', (_name, left, before) =>
    apart(async () => {
      await before();
      expect(await sentBy()).toBe(left);
      expect(await isProved()).toBe(true);
    }),
  );

  it('begins again when its day is over', () =>
    apart(async () => {
      await begin();
      await market.pass(day + 60);
      expect(await sentBy()).toBe(3);
      expect(await isProved()).toBe(true);
    }));

  it('waits for a first part that no block has yet', () =>
    apart(async () => {
      await market.chain.send('evm_setAutomine', [false]);
      const before = await market.sent('provider');
      const begun = begin();
      await vi.waitFor(async () => {
        const { length } = (await market.chain.send('eth_getBlockByNumber', ['pending', false])).transactions as [];
        expect(length).toBe(1);
      });
      const done = discharge();
      await sleep(500);
      await market.chain.send('evm_mine', []);
      await market.chain.send('evm_setAutomine', [true]);
      await Promise.all([begun, done]);
      expect((await market.sent('provider')) - before).toBe(3);
      expect(await isProved()).toBe(true);
    }));

  it('uses what somebody else has proved, and nothing that somebody else has begun', () =>
    apart(async () => {
      await market.part('challenger', 'begin', first);
      await apart(async () => expect(await sentBy()).toBe(3));
      await market.part('challenger', 'finish', first);
      expect(await sentBy()).toBe(1);
      expect(await isProved()).toBe(true);
    }));

  it('sends nothing for a duty that is late, or a run that is another', () =>
    apart(async () => {
      const other = provider().duties.discharge(terms, 0, [...run.borders].reverse(), first);
      expect(await sentBy(async () => expect(await codeOf(other)).toBe('SEGMENT_PATH'))).toBe(0);
      await market.pass(6 * day);
      expect(await sentBy(async () => expect(await codeOf(discharge())).toBe('TOO_LATE'))).toBe(0);
    }));

  it('is not discharged by the proof of another segment, nor by a second part of one', () =>
    apart(async () => {
      const second = sealed(1);
      expect(await codeOf(discharge(second))).toBe('FACT_MISSING');
      expect(await codeOf(discharge({ ...first, openings: second.openings }))).toMatch(/^STEP_|^SPLIT_/);
      expect(await isProved()).toBe(false);
      expect(await sentBy()).toBeLessThan(4);
      expect(await isProved()).toBe(true);
    }));

  it('is refused where the set of contracts has no such verifier', async () => {
    const { extensions: _, ...without } = market.deployment;
    const client = market.process('provider', without);
    const code = await codeOf(client.duties.discharge(terms, 0, run.borders, first));
    expect(code).toBe('CHAIN_SPLIT');
  });
});

const begin = (): Promise<void> => market.part('provider', 'begin', first);
