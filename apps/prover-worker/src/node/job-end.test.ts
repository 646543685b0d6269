/** When a job is over, and what is kept of it may go: not before it, for that costs the stake, and not never, for that fills the disk. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fromHex, to0x } from '#attestation/base';
import { encodeTerms, escrowIdOf, type Terms } from '#attestation/records';
import { keptWitnessBytesMax } from '#libs/node';
import { duties, engage, marketTerms, native, openMarket, walletOf, type Market } from '#test/escrow-market';
import { tinyJob } from '#test/tiny-job';
import { openEscrow, type Escrow } from './escrow.js';
import { openKeptJobs, type KeptJob, type KeptJobs } from './kept-jobs.js';
import { openKeptWitness } from './kept-witness.js';
import type { ProverSettings } from './settings.js';

/** The local chain calls a block final when so many follow it. */
const finalAfter = 64;
/** What one job of this market locks. */
const stakeMaxWei = 6n * 10n ** 17n;

let market: Market;
let folder: string;
let kept: KeptJobs;
let escrow: Escrow;
let salt = 0;
beforeAll(async () => {
  market = await openMarket();
  await market.mine(finalAfter);
}, 300_000);
afterAll(() => market?.stop());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-job-end-'));
  kept = openKeptJobs(folder);
  const { anvil, deployment } = market;
  const chain = {
    ...{ rpcUrl: anvil.url, pollingMs: 20, confirmations: 1 },
    // Of which blocks can be taken back.
    deployment: { ...deployment, setup: { ...deployment.setup, kind: 'l1' } },
  };
  const accountSecret = fromHex(walletOf('provider').privateKey);
  escrow = openEscrow({ chain, accountSecret, escrow: { stakeMaxWei } } as unknown as ProverSettings, kept);
});
afterEach(() => {
  escrow.close();
  rmSync(folder, { recursive: true, force: true });
});

const fresh = (): Terms => marketTerms({ windows: duties, acceptBy: 2 ** 39 + ++salt });
const state = async (terms: Terms) => (await market.as('provider').job(terms)).state;

/** As before the stake. */
function keep(terms: Terms): () => KeptJob {
  const jobId = to0x(escrowIdOf(terms));
  kept.open(jobId, new Uint8Array(), encodeTerms(terms));
  kept.markStaked(jobId);
  return () => kept.find(jobId)!;
}

it('an end that a reorganisation may take back is none', async () => {
  const terms = fresh();
  await engage(market, terms);
  const job = keep(terms);
  const before: unknown = await market.chain.send('evm_snapshot', []);
  await market.as('provider').resign(terms);
  expect(await escrow.collect(job())).toBe('wait');
  await market.chain.send('evm_revert', [before]);
  expect(await state(terms)).toBe('Started');
  await market.as('provider').resign(terms);
  await market.mine(finalAfter - 1);
  expect(await escrow.collect(job())).toBe('wait');
  await market.mine(1);
  expect(await escrow.collect(job())).toBe('end');
});

describe('an escrow that nobody has accepted', () => {
  const acceptSeconds = 1000;
  const isOpened = async (terms: Terms) => market.as('client').open(terms);
  const isNot = () => Promise.resolve();

  it.each([
    { what: 'was opened', come: isOpened },
    { what: 'was not opened', come: isNot },
  ])('and that $what is over when nobody can accept it any more', async ({ come }) => {
    const { timestamp } = (await market.chain.getBlock('latest'))!;
    const terms = { ...fresh(), acceptBy: timestamp + acceptSeconds + ++salt };
    await come(terms);
    const job = keep(terms);
    await market.mine(finalAfter + 1);
    expect(await escrow.collect(job())).toBe('wait');
    await market.pass(2 * acceptSeconds);
    expect(await escrow.collect(job())).toBe('wait');
    await market.mine(finalAfter);
    expect(await escrow.collect(job(), () => undefined)).toBe('wait');
    expect(await escrow.collect(job())).toBe('end');
  });
});

describe('free stake beyond that of one job is taken out', () => {
  it.each([
    {
      what: 'a job that ended',
      async come(terms: Terms) {
        await engage(market, terms);
        await market.as('provider').resign(terms);
      },
    },
    {
      what: 'an acceptance that came too late',
      async come(terms: Terms) {
        await market.as('client').open(terms);
        await market.pass(1001);
      },
    },
  ])('with the end of $what, and the rest stays for the next', async ({ come }) => {
    const { timestamp } = (await market.chain.getBlock('latest'))!;
    const terms = { ...fresh(), acceptBy: timestamp + 1000 };
    const job = keep(terms);
    await come(terms);
    const { address } = walletOf('provider');
    const provider = market.as('provider');
    await provider.stakeUpTo(native, stakeMaxWei + 7n);
    await market.mine(finalAfter + 1);
    expect(await escrow.collect(job())).toBe('end');
    expect(await provider.stakeOf(address, native)).toEqual({ free: stakeMaxWei, locked: 0n });
    expect(await provider.creditOf(address, native)).toBe(0n);
    expect(await escrow.freeStake(terms)).toBe(stakeMaxWei);
  });
});

describe('on the disk of a node', () => {
  const opened = { input: {}, logged: undefined } as never;
  const jobId = to0x(new Uint8Array(32).fill(1));
  const inFolder = (name: string) => join(folder, name);

  it('nothing stays of what a killed process left half done', () => {
    kept.open(jobId, new Uint8Array(), new Uint8Array());
    const [own, gone] = [inFolder(jobId.slice(2)), inFolder('22'.repeat(32))];
    writeFileSync(join(own, 'input.partial'), '');
    mkdirSync(gone);
    writeFileSync(join(gone, 'input'), '');
    writeFileSync(inFolder('notes'), '');
    kept.tidy();
    expect(readdirSync(own).sort()).toEqual(['spec', 'terms']);
    expect(existsSync(gone)).toBe(false);
    expect(existsSync(inFolder('notes'))).toBe(true);
  });

  it('other files, and folders that are laid aside, leave room for a job', async () => {
    const { spec } = await tinyJob();
    const aside = inFolder(`${'22'.repeat(32)}.former`);
    mkdirSync(aside);
    writeFileSync(join(aside, 'terms'), '');
    writeFileSync(join(aside, 'input'), '');
    truncateSync(join(aside, 'input'), keptWitnessBytesMax);
    writeFileSync(inFolder('notes'), '');
    const witness = openKeptWitness(folder, new Uint8Array(32));
    expect(() => witness.checkRoom(jobId, spec, opened)).not.toThrow();
  });
});
