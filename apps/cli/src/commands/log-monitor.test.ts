/** A monitor sees what concerns whoever watches, and keeps both notes of a log that shows two histories. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { HDNodeWallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { makePublicEntry, makeSealedEntry, noteKeyText } from '#attestation/log';
import { fetchCheckpoint } from '#libs/log';
import { anchorCheckpoint, connect, deployLogAnchors, startAnvil, testMnemonic } from '#libs/settlement';
import { logKeyOf } from '#test/log-keys';
import { startLogSite, unixNow } from '#test/log-processes';
import { issuerOf } from '#test/log-site';
import { monitor, monitorExits, type MonitorOptions } from './log-monitor.js';

const [own, other] = [issuerOf('own.example'), issuerOf('other.example')];
const watchKey = new Uint8Array(32).fill(7);
const folder = mkdtempSync(join(tmpdir(), 'veritrain-monitor-'));
const watch = join(folder, 'watch.json');
let site: Awaited<ReturnType<typeof startLogSite>>;
beforeAll(async () => {
  site = await startLogSite([own.name, other.name]);
  const names = ['policy-of-mine'];
  writeFileSync(watch, JSON.stringify({ keys: { mri: toHex(watchKey) }, issuers: [toHex(own.publicKey)], names }));
}, 60_000);
afterAll(async () => {
  await site.stop();
  rmSync(folder, { recursive: true, force: true });
});

const state = join(folder, 'state');
const look = (more: Partial<MonitorOptions> = {}): Promise<number> =>
  monitor({ logPolicy: site.policyFile, state, watch, json: true, ...more });
const random = (size: number): Uint8Array => new Uint8Array(randomBytes(size));

async function release(by: typeof own) {
  const word = (): Uint8Array => random(32);
  const body = { job: word(), dataset: word(), keys: word(), evidence: word(), grant: word(), notAfter: unixNow() };
  return site.submit(
    (await makeSealedEntry(by, 'key-release', body, { at: unixNow(), watchKeys: [watchKey], random })).entry,
  );
}

async function policy(by: typeof own, id: string): Promise<void> {
  const body = { id, digest: random(32), document: null, signers: [], validFrom: 0 };
  await site.submit(await makePublicEntry(by, 'policy', body, unixNow()));
}

describe('veritrain log monitor', () => {
  it('is quiet about one’s own entries, and tells of others’ under one’s watch key or name', async () => {
    await release(own);
    await policy(own, 'policy-of-mine');
    await policy(other, 'policy-of-theirs');
    expect(await look()).toBe(monitorExits.quiet);
    await release(other);
    expect(await look()).toBe(monitorExits.alert);
    await policy(other, 'policy-of-mine');
    expect(await look()).toBe(monitorExits.alert);
    expect(await look()).toBe(monitorExits.quiet);
  }, 60_000);

  it('keeps both notes where the log shows another history, and its state does not move', async () => {
    const [name] = readdirSync(state);
    const file = join(state, name!);
    const before = JSON.parse(readFileSync(file, 'utf8')) as { root: string; size: number };
    const forked = JSON.stringify({ ...before, root: '00'.repeat(32) });
    writeFileSync(file, forked);
    await policy(own, 'more');
    expect(await look()).toBe(monitorExits.misbehaved);
    expect(readFileSync(file, 'utf8')).toBe(forked);
    const kept = readdirSync(state).find((one) => one.includes('evidence'))!;
    const { code, notes } = JSON.parse(readFileSync(join(state, kept), 'utf8')) as { code: string; notes: string[] };
    expect([code, notes.length]).toEqual(['LOG_CONSISTENCY', 2]);
    writeFileSync(file, JSON.stringify(before));
    expect(await look()).toBe(monitorExits.quiet);
  }, 60_000);

  it('tells a listener of what it alerts of, and finds as much where that does not answer', async () => {
    const told: { origin: string; alerts: { code: string }[] }[] = [];
    const listener = createServer((request, response) => {
      void text(request).then((body) => {
        told.push(JSON.parse(body) as (typeof told)[number]);
        response.writeHead(told.length === 1 ? 204 : 500).end();
      });
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const webhook = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/told`;
    try {
      expect(await look({ webhook })).toBe(monitorExits.quiet);
      expect(told).toEqual([]);
      for (const listens of [true, false]) {
        await release(other);
        expect([listens, await look({ webhook })]).toEqual([listens, monitorExits.alert]);
      }
      const { origin } = (await fetchCheckpoint(site.url, site.policy)).checkpoint;
      const codes = told.map((one) => [one.origin, one.alerts.map(({ code }) => code)]);
      expect(codes).toEqual([1, 2].map(() => [origin, ['LOG_ENTRY_UNKNOWN']]));
    } finally {
      listener.close();
    }
    await release(other);
    expect(await look({ webhook })).toBe(monitorExits.alert);
  }, 60_000);

  it('tells of a log that has no new entry within the time that its reader names', async () => {
    const patient = join(folder, 'patient.json');
    writeFileSync(patient, JSON.stringify({ growsWithin: 3600 }));
    const own = { watch: patient, state: join(folder, 'still') };
    expect([await look(own), await look(own)]).toEqual([monitorExits.quiet, monitorExits.quiet]);
    const file = join(own.state, readdirSync(own.state)[0]!);
    const kept = JSON.parse(readFileSync(file, 'utf8')) as { grownAt: number };
    writeFileSync(file, JSON.stringify({ ...kept, grownAt: kept.grownAt - 3601 }));
    expect(await look(own)).toBe(monitorExits.alert);
    await policy(other, 'anything');
    expect(await look(own)).toBe(monitorExits.quiet);
  }, 60_000);

  it('goes on looking where the log cannot be asked for a while', async () => {
    const own = { state: join(folder, 'patient'), every: 1 };
    expect(await look({ state: own.state })).toBeLessThan(monitorExits.misbehaved);
    await site.stopOne('log');
    await expect(look({ state: own.state })).rejects.toThrow(/LOG_UNREACHABLE/);
    const looking = look(own);
    await Promise.race([looking, sleep(1500)]);
    const file = join(own.state, readdirSync(own.state)[0]!);
    writeFileSync(
      file,
      JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), root: '00'.repeat(32) }),
    );
    await site.start('log');
    expect(await looking).toBe(monitorExits.misbehaved);
  }, 60_000);

  it('compares its heads with what was anchored on chain, and keeps what shows another history', async () => {
    const anvil = await startAnvil();
    const provider = connect(anvil.url, anvil.chainId);
    try {
      const wallet = HDNodeWallet.fromPhrase(testMnemonic).connect(provider);
      const contract = await deployLogAnchors(wallet);
      const chain = { rpc: anvil.url, chainId: anvil.chainId, contract, sender: wallet.address };
      const { checkpoint } = await fetchCheckpoint(site.url, site.policy);
      const origin = new Uint8Array(createHash('sha256').update(checkpoint.origin).digest());
      const anchor = (size: number, root: Uint8Array) => anchorCheckpoint(wallet, contract, { origin, size, root });
      await anchor(checkpoint.size, checkpoint.root);
      expect(await look(chain)).toBe(monitorExits.quiet);
      const forked = checkpoint.size + 1;
      const transaction = await anchor(forked, new Uint8Array(32).fill(9));
      // Of more than the log shows: it may be late.
      expect(await look(chain)).toBe(monitorExits.alert);
      await policy(own, 'one more');
      await policy(own, 'and one more');
      expect(await look(chain)).toBe(monitorExits.misbehaved);
      const evidence = readdirSync(state).filter((one) => one.includes('evidence'));
      const kept = evidence.map(
        (one) => JSON.parse(readFileSync(join(state, one), 'utf8')) as { code: string; notes: string[] },
      );
      const { notes } = kept.find(({ code }) => code === 'LOG_ANCHOR')!;
      expect([notes[0]!.startsWith(checkpoint.origin), notes[1]!.includes(transaction)]).toEqual([true, true]);
    } finally {
      provider.destroy();
      await anvil.stop();
    }
  }, 60_000);

  it('sees that a log dropped an entry after it gave its proof, though witness and operator are one', async () => {
    const copies = ['database', 'tiles', 'witness/state'];
    const copy = (from: string, to: string): void => {
      rmSync(join(site.folder, to), { recursive: true, force: true });
      cpSync(join(site.folder, from), join(site.folder, to), { recursive: true });
    };
    const ended = () => Promise.all([site.stopOne('log'), site.stopOne('witness')]);
    expect(await look()).toBe(monitorExits.quiet);
    await ended();
    copies.forEach((one) => copy(one, `before/${one}`));
    await Promise.all([site.start('witness'), site.start('log')]);
    const proof = join(folder, 'dropped.proof');
    writeFileSync(proof, (await release(own)).text);
    expect(await look({ state: join(folder, 'one-that-saw-it'), proof: [proof] })).toBe(monitorExits.alert);
    await ended();
    copies.forEach((one) => copy(`before/${one}`, one));
    await Promise.all([site.start('witness'), site.start('log')]);
    expect(await look({ proof: [proof] })).toBe(monitorExits.alert);
    // A log that is not looked at is held to nothing, and must not be silent about it.
    const another = noteKeyText(logKeyOf('log.example/another/2026').key);
    const elsewhere = join(folder, 'elsewhere.policy');
    const unlooked = readFileSync(site.policyFile, 'utf8').replace(
      /^(log \S+) \S+$/m,
      `$1\nlog ${another} http://127.0.0.1:1`,
    );
    writeFileSync(elsewhere, unlooked);
    await expect(look({ logPolicy: elsewhere, proof: [proof] })).rejects.toThrow(/LOG_URL/);
    await release(own);
    expect(await look({ state: join(folder, 'one-that-saw-it') })).toBe(monitorExits.misbehaved);
    expect(await look({ proof: [proof] })).toBe(monitorExits.misbehaved);
    const kept = readdirSync(state)
      .filter((one) => one.includes('evidence'))
      .toSorted()
      .at(-1)!;
    const { code, notes } = JSON.parse(readFileSync(join(state, kept), 'utf8')) as { code: string; notes: string[] };
    expect(code).toBe('LOG_CONSISTENCY');
    expect(readFileSync(proof, 'utf8').endsWith(notes[0]!)).toBe(true);
    // Whoever has neither seen the entry nor kept its proof sees nothing.
    expect(await look()).toBe(monitorExits.quiet);
  }, 60_000);
});
