/** Entries of one's own by command, a whole log read over, and anchors on a chain that a fork cannot fit. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDNodeWallet, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex, to0x, toHex, utf8 } from '#attestation/base';
import { leafHash, openEntry, parseEntry, parseLogExport, parseLogProof, treeRoot } from '#attestation/log';
import { anchorCheckpoint, connect, startAnvil, testMnemonic, type Anvil } from '#libs/settlement';
import { logKeyOf } from '#test/log-keys';
import { releaseEntry, startLogSite } from '#test/log-processes';
import { runCommand, type Ran } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-log-commands-'));
const at = (name: string): string => join(folder, name);
let site: Awaited<ReturnType<typeof startLogSite>>;
let anvil: Anvil;
let provider: JsonRpcProvider;
beforeAll(async () => {
  [site, anvil] = await Promise.all([startLogSite(['broker.example']), startAnvil()]);
  provider = connect(anvil.url, anvil.chainId);
  writeFileSync(at('issuer.test-key'), to0x(logKeyOf('issuer broker.example').secret), { mode: 0o600 });
});
afterAll(async () => {
  provider.destroy();
  await Promise.all([site.stop(), anvil.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

const ofLog = (...args: readonly string[]): Promise<Ran> => runCommand('log', ...args, '--log-policy', site.policyFile);
const revoke = (id: string, out: string, ...more: readonly string[]): Promise<Ran> =>
  ofLog(
    ...['revoke', '--what', 'chip', '--id', id, '--reason', 'stolen', '--out', at(out)],
    ...['--key', at('issuer.test-key'), '--issuer', 'broker.example', ...more],
  );

describe('veritrain log', () => {
  it('revokes, by an id or by a salted digest, and fetches the proof again', async () => {
    await site.submit(await releaseEntry(1));
    expect((await revoke('aabb', 'plain.entry')).json).toMatchObject({ index: 1 });
    expect((await revoke('aabb', 'salted.entry', '--salted', '--from', '1800000000')).json).toMatchObject({ index: 2 });
    const salted = parseEntry(new Uint8Array(readFileSync(at('salted.entry'))));
    expect(salted).toMatchObject({ kind: 'revocation', body: { what: 'chip', from: 1_800_000_000 } });
    expect(JSON.stringify(salted)).not.toContain('aabb');
    expect((await ofLog('proof', at('plain.entry'), '--out', at('again.proof'))).json).toMatchObject({ ok: true });
    expect(readFileSync(at('again.proof'), 'utf8')).toBe(readFileSync(at('plain.entry.proof'), 'utf8'));
    const verified = await ofLog('verify', at('again.proof'), '--entry', at('plain.entry'));
    expect([verified.code, verified.json['index']]).toEqual([0, 1]);
    expect(parseLogProof(readFileSync(at('again.proof'), 'utf8')).index).toBe(1);
  });

  it('imports a journal once, however often it is asked, and no other in its place', async () => {
    const lines = ['{"at":1}', '{"at":2}', 'a line that a crash cut'];
    writeFileSync(at('journal'), lines.join('\n'));
    const imported = (file: string, out = 'journal.entry'): Promise<Ran> =>
      ofLog(
        ...['import-journal', at(file), '--out', at(out)],
        ...['--key', at('issuer.test-key'), '--issuer', 'broker.example'],
      );
    const first = await imported('journal');
    expect(first.json).toMatchObject({
      index: 3,
      lines: 3,
      root: toHex(treeRoot(lines.map((one) => leafHash(utf8(one))))),
    });
    expect((await imported('journal')).json).toEqual(first.json);
    expect((await imported('journal', 'other.entry')).json).toEqual(first.json);
    expect(readFileSync(at('other.entry.opening'), 'utf8')).toBe(readFileSync(at('journal.entry.opening'), 'utf8'));
    const { salt, body } = JSON.parse(readFileSync(at('journal.entry.opening'), 'utf8')) as Record<string, string>;
    const entry = parseEntry(new Uint8Array(readFileSync(at('journal.entry'))));
    if (entry.class !== 'sealed') throw new Error(entry.class);
    expect(openEntry(entry, 'journal-import', { salt: fromHex(salt!), body: fromHex(body!) })).toMatchObject({
      lines: 3,
    });
    writeFileSync(at('shorter'), lines.slice(1).join('\n'));
    expect(await imported('shorter')).toMatchObject({ code: 1, json: { error: { code: 'LOG_JOURNAL' } } });
  });

  it('exports what was revoked, with the checkpoint that it was read under', async () => {
    const { json } = await ofLog('export', '--out', at('revoked.log'));
    expect(json).toMatchObject({ size: 4, revocations: 2 });
    const made = parseLogExport(new Uint8Array(readFileSync(at('revoked.log'))));
    expect(made.revocations.map(({ index }) => index)).toEqual([1, 2]);
  });

  it('anchors, and finds a log whose history the anchors do not fit', async () => {
    const chain = ['--rpc', anvil.url];
    const wallet = HDNodeWallet.fromPhrase(testMnemonic).connect(provider);
    writeFileSync(at('account.test-key'), wallet.privateKey, { mode: 0o600 });
    const first = await ofLog('anchor', ...chain, '--key', at('account.test-key'));
    expect(first.json).toMatchObject({ size: 4, sender: wallet.address });
    const contract = String(first.json['contract']);
    const audit = (): Promise<Ran> => ofLog('audit', ...chain, '--contract', contract, '--sender', wallet.address);
    await site.submit(await releaseEntry(2));
    const kinds = { 'journal-import': 1, 'key-release': 2, revocation: 2 };
    expect(await audit()).toMatchObject({ code: 0, json: { ok: true, size: 5, anchors: 1, anchored: 4, kinds } });
    const again = await ofLog('anchor', ...chain, '--contract', contract, '--key', at('account.test-key'));
    expect(again.json).toMatchObject({ size: 5, contract });
    const origin = new Uint8Array(createHash('sha256').update(String(again.json['origin'])).digest());
    const fork = (size: number) =>
      anchorCheckpoint(wallet, contract, { origin, size, root: new Uint8Array(32).fill(9) });
    await expect(fork(4)).rejects.toThrow(/ANCHOR_ORDER/);
    await expect(fork(5)).rejects.toThrow(/ANCHOR_ORDER/);
    await fork(6);
    const behind = await audit();
    expect([behind.code, (behind.json['faults'] as string[]).length]).toEqual([3, 1]);
    await site.submit(await releaseEntry(3));
    const forked = await audit();
    expect(forked.code).toBe(3);
    expect((forked.json['faults'] as string[])[0]).toContain('LOG_CONSISTENCY');
  });
});
