/** Checkpoints on a local chain, by the log itself. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HDNodeWallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex, toHex, utf8 } from '#attestation/base';
import { cosign, leafHash, noteKeyText, parseCheckpoint, parseTrustPolicy, treeRoot } from '#attestation/log';
import type { LogService } from '#libs/log';
import { anchorOrigin, connect, deployLogAnchors, readLogAnchors, startAnvil, testMnemonic } from '#libs/settlement';
import { logKeyOf } from '#test/log-keys';
import { releaseEntry } from '#test/log-processes';
import { layOutLog } from '#test/log-site';
import { Anchors } from './anchors.js';
import { createLogApp } from './app.js';
import { LOG } from './parts.js';
import { loadSettings } from './settings.js';

const log = logKeyOf('log.example/anchored/2026');
const witness = logKeyOf('witness.example/w', 'witness');
const policy = parseTrustPolicy(`log ${noteKeyText(log.key)}\nwitness w ${noteKeyText(witness.key)}\nquorum w\n`);
const leaves = Array.from({ length: 8 }, (_, at) => leafHash(utf8(`entry ${at}`)));
const rootOf = (size: number): Uint8Array => treeRoot(leaves.slice(0, size));
const note = (size: number): string => log.note(size, rootOf(size));
const seenNote = (size: number): string =>
  note(size) + cosign(parseCheckpoint(note(size)), witness.key, Math.floor(Date.now() / 1000), witness.sign);

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
  const origin = anchorOrigin(log.key.name);
  const all = await readLogAnchors(provider, of, { origin, sender: wallet.address });
  return all.map(({ size, root }) => [size, toHex(root)] as const);
};
const anchored = (...sizes: readonly number[]) => sizes.map((size) => [size, toHex(rootOf(size))]);

function startedWith(everySeconds: number, served: () => string, to = contract) {
  const failures: string[] = [];
  const anchors = new Anchors(
    { rpcUrl: anvil.url, chainId: anvil.chainId, contract: to, secret: fromHex(wallet.privateKey), everySeconds },
    { log: { checkpoint: () => Promise.resolve(served()) }, policy, onFailure: (code) => void failures.push(code) },
  );
  anchors.start();
  return { anchors, failures };
}

describe('a log that anchors', () => {
  it('writes what a quorum saw on chain, once an interval, and nothing where it did not grow', async () => {
    let served = note(3);
    const { anchors, failures } = startedWith(2, () => served);
    await sleep(500);
    // Nobody saw it yet.
    expect(await onChain()).toEqual([]);
    served = seenNote(3);
    await expect.poll(() => onChain(), { timeout: 10_000 }).toEqual(anchored(3));
    served = seenNote(5);
    await expect.poll(() => onChain(), { timeout: 10_000 }).toEqual(anchored(3, 5));
    await sleep(3000);
    expect(await onChain()).toEqual(anchored(3, 5));
    await anchors.stop();
    expect(failures).toEqual([]);
  }, 60_000);

  it('started anew, or a second replica, writes nothing before the interval is over', async () => {
    const { anchors } = startedWith(3600, () => seenNote(8));
    await sleep(500);
    await anchors.stop();
    expect(await onChain()).toEqual(anchored(3, 5));
  }, 60_000);

  it('tells where the chain has more than the log shows, and goes on', async () => {
    const { anchors, failures } = startedWith(1, () => seenNote(4));
    await expect.poll(() => failures.length, { timeout: 10_000 }).toBeGreaterThan(1);
    await anchors.stop();
    expect([...new Set(failures)]).toEqual(['ANCHOR_ORDER']);
  }, 60_000);

  it('ends at once though its transaction is never mined', async () => {
    const own = await deployLogAnchors(wallet.connect(provider));
    await provider.send('evm_setAutomine', [false]);
    const { anchors, failures } = startedWith(1, () => seenNote(3), own);
    const pending = async () => Number(await provider.send('eth_getBlockTransactionCountByNumber', ['pending']));
    await expect.poll(pending, { timeout: 10_000 }).toBe(1);
    const began = performance.now();
    await anchors.stop();
    expect(performance.now() - began).toBeLessThan(2000);
    expect(failures).toEqual([]);
    await provider.send('evm_setAutomine', [true]);
    await provider.send('evm_mine', []);
    expect(await onChain(own)).toEqual(anchored(3));
  }, 60_000);

  it('is told so by its settings', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'veritrain-log-anchors-'));
    const { logConfig } = layOutLog({ folder, origin: log.key.name, witnessPort: 1, quorum: 'none' });
    writeFileSync(join(folder, 'account.test-key'), wallet.privateKey);
    const own = await deployLogAnchors(wallet.connect(provider));
    const anchors = {
      rpcUrl: anvil.url,
      chainId: anvil.chainId,
      contract: own,
      key: 'account.test-key',
      everySeconds: 60,
    };
    writeFileSync(logConfig, JSON.stringify({ ...JSON.parse(readFileSync(logConfig, 'utf8')), anchors }));
    const app = await createLogApp(loadSettings(logConfig));
    try {
      await app.get<LogService>(LOG).submit(await releaseEntry(1));
      await expect.poll(() => onChain(own), { timeout: 20_000 }).toEqual([[1, expect.any(String)]]);
    } finally {
      await app.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }, 60_000);
});
