/** The stake of a process that was killed, or whose answer was lost, while a deposit was on its way. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transaction, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { to0x } from '#attestation/base';
import { encodeTerms, type Terms } from '#attestation/records';
import { nodeCommand, startProcess } from '#libs/process';
import { duties, marketTerms, native, openMarket, walletOf, type Market } from '#test/escrow-market';
import { startFaultyRpc, type FaultyRpc } from '#test/faulty-rpc';
import { connect } from './chain.js';
import { SettlementClient } from './client.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'veritrain-stake-'));
const file = join(folder, 'deployment.json');
const me = walletOf('provider');
let market: Market;
let proxy: FaultyRpc;
let rpc: JsonRpcProvider;
let salt = 0;
beforeAll(async () => {
  market = await openMarket();
  writeFileSync(file, JSON.stringify(market.deployment));
  proxy = await startFaultyRpc(market.anvil.url);
  rpc = connect(proxy.url, market.anvil.chainId, 20);
});
afterAll(async () => {
  rpc?.destroy();
  await proxy?.stop();
  await market?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const provider = (): SettlementClient => new SettlementClient(market.deployment, me.connect(rpc));
const stake = () => market.as('provider').stakeOf(me.address, native);
const mine = () => market.chain.send('evm_mine', []);
const automine = (isOn: boolean) => market.chain.send('evm_setAutomine', [isOn]);

async function opened(): Promise<Terms> {
  const terms = marketTerms({ windows: duties, acceptBy: 2 ** 39 + ++salt });
  await market.as('client').open(terms);
  return terms;
}

/** Undoes what a test did to the chain. */
async function apart(test: () => Promise<void>): Promise<void> {
  const before: unknown = await market.chain.send('evm_snapshot', []);
  try {
    await test();
  } finally {
    await automine(true);
    Object.assign(proxy, { strike: () => null, speak: (_: unknown, pass: () => unknown) => pass() });
    await market.chain.send('evm_revert', [before]);
  }
}

/** A process of the provider's, killed when it has sent `many` transactions, of which no block has the last. */
async function killed(call: 'accept' | 'release', terms: Terms, many = 1): Promise<void> {
  const watched = await startFaultyRpc(market.anvil.url);
  const seen = new Set<string>();
  watched.speak = async ({ method, params }, pass) => {
    if (method !== 'eth_sendRawTransaction') return pass();
    seen.add(Transaction.from(params[0]!).hash!);
    if (seen.size === many) await automine(false);
    return pass();
  };
  const args = [call, watched.url, file, to0x(encodeTerms(terms))];
  const { child } = startProcess(nodeCommand('../../../test/support/stake-main', import.meta.url, args), {
    stdio: ['ignore', 'ignore', 'inherit'],
    endsWithUs: true,
  });
  const ended = once(child, 'close');
  const isSent = async () => {
    const { transactions } = (await market.chain.send('eth_getBlockByNumber', ['pending', false])) as {
      transactions: unknown[];
    };
    expect([seen.size, transactions.length]).toEqual([many, 1]);
  };
  await vi.waitFor(isSent, { timeout: 30_000, interval: 20 });
  child.kill('SIGKILL');
  expect(await ended).toEqual([null, 'SIGKILL']);
  await watched.stop();
}

/** Blocks come when the next process has asked so much that it has sent what it would send. */
async function whileBlocksAreAway(work: () => Promise<unknown>): Promise<void> {
  let [asked, isDone] = [0, false];
  proxy.strike = () => (asked++, null);
  const done = work().finally(() => (isDone = true));
  done.catch(() => undefined);
  await vi.waitFor(() => expect(asked).toBeGreaterThan(20), { timeout: 30_000 });
  const mining = async () => {
    await mine();
    expect(isDone).toBe(true);
  };
  await vi.waitFor(mining, { timeout: 30_000, interval: 100 });
  await done;
}

describe('a provider of whose transactions one is on its way', () => {
  it('deposits no second time after it was killed', () =>
    apart(async () => {
      const terms = await opened();
      await killed('accept', terms);
      expect(await stake()).toEqual({ free: 0n, locked: 0n });
      await whileBlocksAreAway(() => provider().accept(terms));
      expect(await stake()).toEqual({ free: 0n, locked: terms.stake });
    }));

  it('deposits no second time at a node that does not tell what is on its way', () =>
    apart(async () => {
      const terms = await opened();
      await killed('accept', terms);
      proxy.speak = ({ method, params }, pass) => {
        const isAsked = method === 'eth_getTransactionCount' && params[1] === 'pending';
        if (!isAsked) return pass();
        return market.chain.send(method, [params[0], 'latest']).then((result: unknown) => ({ result }));
      };
      await whileBlocksAreAway(() => provider().accept(terms));
      expect(await stake()).toEqual({ free: 0n, locked: terms.stake });
    }));

  it('deposits nothing for an acceptance that was on its way', () =>
    apart(async () => {
      const terms = await opened();
      await killed('accept', terms, 2);
      expect(await stake()).toEqual({ free: terms.stake, locked: 0n });
      await whileBlocksAreAway(() => provider().accept(terms));
      expect(await stake()).toEqual({ free: 0n, locked: terms.stake });
    }));

  it('deposits nothing where another process accepted meanwhile', () =>
    apart(async () => {
      const terms = await opened();
      let accepted: Promise<unknown> | undefined;
      proxy.speak = async ({ method }, pass) => {
        if (method === 'eth_getTransactionCount') await (accepted ??= market.as('provider').accept(terms));
        return pass();
      };
      await provider().accept(terms);
      expect(accepted).toBeDefined();
      expect(await stake()).toEqual({ free: 0n, locked: terms.stake });
    }));

  it('deposits nothing where nobody can accept any more', () =>
    apart(async () => {
      const { timestamp } = (await market.chain.getBlock('latest'))!;
      const terms = marketTerms({ windows: duties, acceptBy: timestamp + 100 });
      await market.as('client').open(terms);
      await market.pass(101);
      await expect(provider().accept(terms)).rejects.toMatchObject({ code: 'TOO_LATE' });
      expect(await stake()).toEqual({ free: 0n, locked: 0n });
    }));

  it('takes out no more than it was to', () =>
    apart(async () => {
      await market.as('provider').stakeUpTo(native, 10n);
      const credit = () => market.as('provider').creditOf(me.address, native);
      await killed('release', await opened());
      await whileBlocksAreAway(() => provider().stakeDownTo(native, 4n));
      // The killed one was to take all.
      expect([await credit(), (await stake()).free]).toEqual([10n, 0n]);
    }));
});

describe('a target of stake', () => {
  it('is reached once, and needs nothing more', () =>
    apart(async () => {
      expect(await provider().stakeUpTo(native, 7n)).toMatchObject({ txHash: expect.any(String) });
      expect(await provider().stakeUpTo(native, 7n)).toBeUndefined();
      expect(await provider().stakeUpTo(native, 5n)).toBeUndefined();
      expect((await stake()).free).toBe(7n);
      await provider().stakeDownTo(native, 5n);
      expect(await provider().stakeDownTo(native, 5n)).toBeUndefined();
      expect((await stake()).free).toBe(5n);
    }));

  it('is reached once by two that ask together', () =>
    apart(async () => {
      await Promise.all([provider().stakeUpTo(native, 7n), provider().stakeUpTo(native, 7n)]);
      expect((await stake()).free).toBe(7n);
    }));

  it('is reached once where the answer is lost', () =>
    apart(async () => {
      proxy.strike = ({ isNewTransaction }) => (isNewTransaction ? 'lose answer' : null);
      await provider().stakeUpTo(native, 7n);
      expect((await stake()).free).toBe(7n);
    }));
});
