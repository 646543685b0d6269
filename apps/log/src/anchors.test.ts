/** Checkpoints on a local chain, by the log itself. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { HDNodeWallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex, toHex } from '#attestation/base';
import type { LogService } from '#libs/log';
import { anchorOrigin, connect, deployLogAnchors, readLogAnchors, startAnvil, testMnemonic } from '#libs/settlement';
import { seenLogOf } from '#test/log-keys';
import { releaseEntry } from '#test/log-processes';
import { layOutLog } from '#test/log-site';
import { Anchors } from './anchors.js';
import { createLogApp } from './app.js';
import { LOG } from './parts.js';
import { loadSettings } from './settings.js';

const { name, note, policy, rootOf, seen } = seenLogOf('log.example/anchored/2026');
/** No other replica asks for it. */
const lease = { during: async (work: () => Promise<void>) => work().then(() => true) };

let anvil: Awaited<ReturnType<typeof startAnvil>>;
let provider: ReturnType<typeof connect>;
let contract: string;
const wallet = HDNodeWallet.fromPhrase(testMnemonic);
beforeAll(async () => {
  anvil = await startAnvil();
  provider = connect(anvil.url, anvil.chainId);
  contract = await deployLogAnchors(wallet.connect(provider));
}, 60_000);
afterAll(async () => {
  provider.destroy();
  await anvil.stop();
});

const onChain = async (of = contract): Promise<(readonly [number, string])[]> => {
  const origin = anchorOrigin(name);
  const all = await readLogAnchors(provider, of, { origin, sender: wallet.address });
  return all.map(({ size, root }) => [size, toHex(root)] as const);
};
const anchored = (...sizes: readonly number[]) => sizes.map((size) => [size, toHex(rootOf(size))]);

/** The same chain behind an endpoint that answers a method once, then with an error. */
async function chainWithoutSecond(method: string): Promise<{ url: string; stop: () => void }> {
  let asked = 0;
  const server = createServer((request, response) => {
    const refuse = () => response.writeHead(503).end();
    void text(request)
      .then(async (body) => {
        if (body.includes(method) && ++asked > 1) return refuse();
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(anvil.url, { method: 'POST', headers, body });
        return response.writeHead(answer.status, headers).end(await answer.text());
      })
      .catch(refuse);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

interface Chain {
  readonly to?: string;
  readonly url?: string;
  readonly feeMaxWei?: bigint;
}

function startedWith(everySeconds: number, served: () => string, { to = contract, url, feeMaxWei }: Chain = {}) {
  const failures: string[] = [];
  const reasons: string[] = [];
  const onFailure = (code: string, why: string): void => {
    failures.push(code);
    reasons.push(why);
  };
  const account = { secret: fromHex(wallet.privateKey), feeMaxWei };
  const anchors = new Anchors(
    { rpcUrl: url ?? anvil.url, chainId: anvil.chainId, contract: to, everySeconds, ...account },
    { log: { checkpoint: () => Promise.resolve(served()) }, policy, lease, onFailure },
  );
  anchors.start();
  return { anchors, failures, reasons };
}

describe('a log that anchors', () => {
  it('writes what a quorum saw on chain, once an interval, and nothing where it did not grow', async () => {
    let served = note(3);
    const { anchors, failures } = startedWith(2, () => served);
    await sleep(500);
    // Nobody saw it yet.
    expect(await onChain()).toEqual([]);
    served = seen(3);
    await expect.poll(() => onChain()).toEqual(anchored(3));
    served = seen(5);
    await expect.poll(() => onChain()).toEqual(anchored(3, 5));
    await sleep(3000);
    expect(await onChain()).toEqual(anchored(3, 5));
    await anchors.stop();
    expect(failures).toEqual([]);
  }, 60_000);

  it('started anew, or a second replica, writes nothing before the interval is over', async () => {
    const { anchors } = startedWith(3600, () => seen(8));
    await sleep(500);
    await anchors.stop();
    expect(await onChain()).toEqual(anchored(3, 5));
  }, 60_000);

  it('tells where the chain has more than the log shows, and goes on', async () => {
    const { anchors, failures } = startedWith(1, () => seen(4));
    await expect.poll(() => failures.length).toBeGreaterThan(1);
    await anchors.stop();
    expect([...new Set(failures)]).toEqual(['ANCHOR_ORDER']);
  }, 60_000);

  it('ends at once though its transaction is never mined', async () => {
    const own = await deployLogAnchors(wallet.connect(provider));
    await provider.send('evm_setAutomine', [false]);
    const { anchors, failures } = startedWith(1, () => seen(3), { to: own });
    const pending = async () => Number(await provider.send('eth_getBlockTransactionCountByNumber', ['pending']));
    await expect.poll(pending).toBe(1);
    const began = performance.now();
    await anchors.stop();
    expect(performance.now() - began).toBeLessThan(2000);
    expect(failures).toEqual([]);
    await provider.send('evm_setAutomine', [true]);
    await provider.send('evm_mine', []);
    expect(await onChain(own)).toEqual(anchored(3));
  }, 60_000);

  it('tells of a chain that says nothing of its transaction, and goes on', async () => {
    const own = await deployLogAnchors(wallet.connect(provider));
    const { url, stop } = await chainWithoutSecond('eth_getTransactionReceipt');
    await provider.send('evm_setAutomine', [false]);
    const { anchors, failures } = startedWith(3600, () => seen(3), { to: own, url });
    await expect.poll(() => failures.length).toBeGreaterThan(0);
    await anchors.stop();
    stop();
    await provider.send('evm_setAutomine', [true]);
    await provider.send('evm_mine', []);
    expect([...new Set(failures)]).toEqual(['CHAIN_UNREACHABLE']);
    expect(await onChain(own)).toEqual(anchored(3));
  }, 60_000);

  it('waits for a cheaper block than its cap allows, says so, and pays no more than that', async () => {
    const own = await deployLogAnchors(wallet.connect(provider));
    const baseFee = async (wei: number): Promise<void> => {
      await provider.send('anvil_setNextBlockBaseFeePerGas', [`0x${wei.toString(16)}`]);
      await provider.send('evm_mine', []);
    };
    await baseFee(1e12);
    const most = 10n ** 15n;
    const { anchors, failures, reasons } = startedWith(1, () => seen(3), { to: own, feeMaxWei: most });
    await expect.poll(() => failures).toContain('CHAIN_FEES');
    expect(reasons[0]).toMatch(/expected an anchor for 1000000000000000 wei or less, got \d+ wei as blocks are now/);
    expect(reasons[0]).toMatch(/raise anchors\.feeMaxWei, .*; looks again in 0\.\d+ s$/);
    expect(await onChain(own)).toEqual([]);
    const before = await provider.getBalance(wallet.address);
    await baseFee(1e9);
    await expect.poll(() => onChain(own)).toEqual(anchored(3));
    await anchors.stop();
    expect([...new Set(failures)]).toEqual(['CHAIN_FEES']);
    expect(before - (await provider.getBalance(wallet.address))).toBeLessThanOrEqual(most);
  }, 60_000);

  it('sends nothing while a transaction of its account waits for a block', async () => {
    const own = await deployLogAnchors(wallet.connect(provider));
    await provider.send('evm_setAutomine', [false]);
    await wallet.connect(provider).sendTransaction({ to: wallet.address });
    const { anchors, failures } = startedWith(1, () => seen(3), { to: own });
    await expect.poll(() => failures.length).toBeGreaterThan(1);
    expect([...new Set(failures)]).toEqual(['CHAIN_NONCE']);
    await provider.send('evm_setAutomine', [true]);
    await provider.send('evm_mine', []);
    await expect.poll(() => onChain(own)).toEqual(anchored(3));
    await anchors.stop();
  }, 60_000);

  it('is told so by its settings', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'veritrain-log-anchors-'));
    const { logConfig } = layOutLog({ folder, origin: name, witnessPort: 1, quorum: 'none' });
    writeFileSync(join(folder, 'account.test-key'), wallet.privateKey);
    const own = await deployLogAnchors(wallet.connect(provider));
    const anchors = {
      rpcUrl: anvil.url,
      chainId: anvil.chainId,
      contract: own,
      key: 'account.test-key',
      everySeconds: 60,
      feeMaxWei: '1000000000000000',
    };
    writeFileSync(logConfig, JSON.stringify({ ...JSON.parse(readFileSync(logConfig, 'utf8')), anchors }));
    const app = await createLogApp(loadSettings(logConfig));
    try {
      await app.get<LogService>(LOG).submit(await releaseEntry(1));
      await expect.poll(() => onChain(own)).toEqual([[1, expect.any(String)]]);
    } finally {
      await app.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }, 60_000);
});
