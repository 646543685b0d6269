/** Commands that make a policy, an image, advisories, a key or an anchor log it, once, and the log has an entry of each. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { HDNodeWallet } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentDigest, parseAdvisories } from '#attestation';
import { addressOfPublicKey, fromHex, recoverAddress, to0x, toHex } from '#attestation/base';
import { issuerDigest, parseEntry, type EntryBody, type PublicKind } from '#attestation/log';
import { startAnvil, testMnemonic, type Anvil } from '#libs/settlement';
import { logKeyOf } from '#test/log-keys';
import { startLogSite } from '#test/log-processes';
import { madeGuest, withListed, type MadeGuest } from '#test/made-guest';
import { runCommand, type Ran } from '#test/run-command';
import { imageBodies, publish } from './log-publish.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-log-publish-'));
const at = (name: string): string => join(folder, name);
const account = new Uint8Array(32).fill(5);
let site: Awaited<ReturnType<typeof startLogSite>>;
let anvil: Anvil;
let guest: MadeGuest;
beforeAll(async () => {
  [site, anvil, guest] = await Promise.all([startLogSite(['owner.example']), startAnvil(), madeGuest()]);
  writeFileSync(at('owner.test-key'), to0x(logKeyOf('issuer owner.example').secret), { mode: 0o600 });
  writeFileSync(at('account.test-key'), to0x(account), { mode: 0o600 });
});
afterAll(async () => {
  await Promise.all([site.stop(), anvil.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

const logged = (): string[] => ['--log-policy', site.policyFile, '--issuer', 'owner.example'];
const owner = (): string[] => [...logged(), '--key', at('owner.test-key')];
function bodyIn<K extends PublicKind>(file: string, kind: K): EntryBody<K> {
  const entry = parseEntry(new Uint8Array(readFileSync(file)));
  if (entry.class !== 'public' || entry.kind !== kind) throw new Error(`${entry.kind} in ${file}`);
  return entry.body as EntryBody<K>;
}
const verified = (name: string): Promise<Ran> =>
  runCommand('log', 'verify', at(`${name}.proof`), '--entry', at(`${name}.entry`), '--log-policy', site.policyFile);

describe('a command that is told of a log', () => {
  it('policy add-image: logs the policy and every launch that it pins', async () => {
    const [one] = guest.builders;
    writeFileSync(at('OVMF.fd'), guest.firmware);
    writeFileSync(at('guest.cose'), await one.sign(guest.manifest));
    const named = ['--policy', 'apps/key-broker/policies/production-cpu.json', '--firmware', at('OVMF.fd')];
    const key = ['--public-key', toHex(one.publicKey), '--one-builder', '--log-key', at('owner.test-key')];
    let ran: Ran | undefined;
    await withListed(guest.firmware, async () => {
      const args = [at('guest.cose'), ...named, ...key, '--out', at('pinned.json'), ...logged()];
      ran = await runCommand('policy', 'add-image', ...args);
    });
    expect(ran!.code).toBe(0);
    expect(toHex(bodyIn(at('pinned.json.policy.entry'), 'policy').digest)).toBe(ran!.json['digest']);
    const { measurements, version, sbom } = bodyIn(at('pinned.json.image.entry'), 'image');
    expect(measurements.map(({ value }) => toHex(value))).toEqual(ran!.json['added']);
    expect([version, toHex(sbom!)]).toEqual([guest.manifest.tag, guest.manifest.sbomSha256]);
    expect((await verified('pinned.json.image')).json).toMatchObject({ ok: true, kind: 'image' });
  });

  it('GUEST_NOT_LOGGED, GUEST_FLAVOUR, GUEST_LOG_POLICY: policy check and guest verify hold pins against logged images', async () => {
    const check = (...more: string[]): Promise<Ran> => runCommand('policy', 'check', at('pinned.json'), ...more);
    const trusting = ['--log-policy', site.policyFile];
    const image = ['--image', at('pinned.json.image.entry')];
    expect((await check(...trusting, ...image)).json).toMatchObject({ ok: true, measurementsLogged: 2 });
    expect((await check(...trusting)).json).toMatchObject({ error: { code: 'GUEST_NOT_LOGGED' } });
    // It takes any image, and so does not demand logged ones.
    const pinned = JSON.parse(readFileSync(at('pinned.json'), 'utf8')) as { snp: Record<string, unknown> };
    const { measurements: _pinned, ...snp } = pinned.snp;
    writeFileSync(at('open.json'), JSON.stringify({ ...pinned, environment: 'development', snp }));
    const open = await runCommand('policy', 'check', at('open.json'), ...trusting, ...image);
    expect(open.json).toMatchObject({ error: { code: 'GUEST_NOT_LOGGED', got: 'none' } });
    expect((await check(...image)).json).toMatchObject({ error: { code: 'GUEST_LOG_POLICY' } });
    const policy = await check(...trusting, '--image', at('pinned.json.policy.entry'));
    expect(policy.json).toMatchObject({ error: { code: 'GUEST_NOT_LOGGED', got: 'policy' } });
    writeFileSync(at('strange.entry'), readFileSync(at('pinned.json.image.entry')));
    writeFileSync(at('strange.proof'), readFileSync(at('pinned.json.policy.proof')));
    const strange = await check(...trusting, '--image', at('strange.entry'));
    expect(strange.json).toMatchObject({ error: { code: expect.stringMatching(/^LOG_/) as string } });
    const [one] = guest.builders;
    await withListed(guest.firmware, async () => {
      const named = ['--public-key', toHex(one.publicKey), '--firmware', at('OVMF.fd')];
      const verify = (...more: string[]): Promise<Ran> =>
        runCommand('guest', 'verify', at('guest.cose'), ...named, ...more);
      expect((await verify()).json).toMatchObject({ ok: true, logged: null });
      expect((await verify(...trusting, ...image)).json).toMatchObject({ ok: true, logged: 2 });
      expect((await verify(...trusting)).json).toMatchObject({ error: { code: 'GUEST_NOT_LOGGED' } });
    });
    const dev = imageBodies({ ...guest.manifest, flavour: 'dev' }).map(([, body]) => body)[0]!;
    const by = { key: at('owner.test-key'), issuer: 'owner.example', logPolicy: site.policyFile };
    await publish(by, 'image', dev as EntryBody<'image'>, { entry: at('dev.entry'), proof: at('dev.proof') });
    const simulated = await check(...trusting, '--image', at('dev.entry'));
    expect(simulated.json).toMatchObject({ error: { code: 'GUEST_FLAVOUR' } });
  });

  it('policy sign: logs the policy with its signer, once however often it is asked', async () => {
    const sign = (): Promise<Ran> =>
      runCommand('policy', 'sign', at('pinned.json'), '--out', at('policy.cose'), ...owner());
    const first = await sign();
    expect(first.json).toMatchObject({ ok: true, logged: [{ index: 3 }] });
    expect((await sign()).json['logged']).toEqual(first.json['logged']);
    const { digest, signers, document } = bodyIn(at('policy.cose.policy.entry'), 'policy');
    expect(toHex(digest)).toBe(first.json['digest']);
    expect([signers.map(toHex), document === null]).toEqual([[first.json['publicKey']], false]);
    expect((await verified('policy.cose.policy')).json).toMatchObject({ ok: true, kind: 'policy' });
  });

  it('advisories sign: logs digest, date and ids', async () => {
    const text = JSON.stringify({ version: 1, id: 'made', issued: 1_800_000_000, advisories: [] });
    writeFileSync(at('advisories.json'), text);
    const { json } = await runCommand('advisories', 'sign', at('advisories.json'), '--out', at('a.cose'), ...owner());
    expect(json['ok']).toBe(true);
    const { digest, date } = bodyIn(at('a.cose.floors.entry'), 'floors');
    expect([toHex(digest), date]).toEqual([documentDigest(parseAdvisories(text)), 1_800_000_000]);
  });

  it('log issuer: says whose a key is, and the account of a key broker signs it', async () => {
    const subject = logKeyOf('issuer broker.example').key.publicKey;
    const whose = ['--subject', 'broker.example', '--subject-key', toHex(subject), '--kinds', 'key-release,policy'];
    const made = ['--account-key', at('account.test-key'), '--out', at('broker.entry')];
    expect((await runCommand('log', 'issuer', ...whose, ...made, ...owner())).code).toBe(0);
    const { key, validFrom, until, account: by } = bodyIn(at('broker.entry'), 'issuer');
    const address = addressOfPublicKey(secp256k1.getPublicKey(account, false));
    expect(toHex(recoverAddress(issuerDigest(key, validFrom, until), by!.signature))).toBe(toHex(address));
    const wrong = await runCommand('log', 'issuer', ...whose.with(-1, 'key-release,other'), ...made, ...owner());
    expect(wrong.json).toMatchObject({ error: { code: 'USAGE', got: expect.stringContaining('not other') } });
  });

  it('log anchor: logs the transaction that wrote a checkpoint on chain', async () => {
    writeFileSync(at('chain.test-key'), HDNodeWallet.fromPhrase(testMnemonic).privateKey, { mode: 0o600 });
    const on = ['--rpc', anvil.url, '--key', at('chain.test-key'), '--issuer-key', at('owner.test-key')];
    const { json } = await runCommand('log', 'anchor', ...on, '--out', at('anchor'), ...logged());
    const { transaction, size, root, contract, chainId } = bodyIn(at('anchor.entry'), 'anchor');
    expect([to0x(transaction), size, toHex(root)]).toEqual([json['transaction'], json['size'], json['root']]);
    expect([contract, chainId]).toEqual([fromHex(String(json['contract']).toLowerCase()), 31337]);
    const audited = await runCommand('log', 'audit', '--log-policy', site.policyFile);
    expect(audited.json).toMatchObject({ ok: true, kinds: { policy: 2, image: 2, floors: 1, issuer: 1, anchor: 1 } });
  });

  it('policy check: holds pins of a TD, an enclave and Nitro against logged images, and says what no entry has a word for', async () => {
    const digit = (value: number, bytes: number): string => `${value}`.repeat(2 * bytes);
    const base = JSON.parse(readFileSync(at('open.json'), 'utf8')) as { quote: object };
    const [mrTd, rtmr1, mrEnclave, pcr0, pcr4] = [digit(1, 48), digit(2, 48), digit(3, 32), digit(4, 48), digit(5, 48)];
    const quote = {
      ...base.quote,
      ...{ measurements: [mrTd, mrEnclave], rtmrs: { 1: [rtmr1], 3: [digit(0, 48)] }, mrSigners: [digit(6, 32)] },
    };
    writeFileSync(at('kinds.json'), JSON.stringify({ ...base, quote, nitro: { pcrs: { 0: [pcr0], 4: [pcr4] } } }));
    const named = { tdx: mrTd, RTMR1: rtmr1, sgx: mrEnclave, nitro: pcr0, PCR4: pcr4 };
    const log = async (name: string, kinds: Record<string, string>): Promise<string[]> => {
      const measurements = Object.entries(kinds).map(([kind, value]) => ({ kind, value: fromHex(value) }));
      const body = { ...bodyIn(at('pinned.json.image.entry'), 'image'), name, measurements };
      const by = { key: at('owner.test-key'), issuer: 'owner.example', logPolicy: site.policyFile };
      await publish(by, 'image', body, { entry: at(`${name}.entry`), proof: at(`${name}.proof`) });
      return ['--image', at(`${name}.entry`)];
    };
    const check = (...more: string[]): Promise<Ran> =>
      runCommand('policy', 'check', at('kinds.json'), '--log-policy', site.policyFile, ...more);
    const ran = await check(...(await log('kinds', named)));
    expect(ran.json).toMatchObject({ ok: true, measurementsLogged: 5, notLookedUp: ['quote.mrSigners'] });
    for (const [turn, [kind, value]] of Object.entries(named).entries()) {
      const { [kind as 'tdx']: _left, ...others } = named;
      // The same value as something else is another measurement.
      const swapped = await check(...(await log(`without-${turn}`, { ...others, snp: value })));
      expect(swapped.json, kind).toMatchObject({
        error: { code: 'GUEST_NOT_LOGGED', got: `1 of 5 in none, the first ${kind} ${value}` },
      });
    }
  });

  it('says what is missing, and what the log does not take', async () => {
    const policy = ['sign', at('pinned.json'), '--out', at('p'), '--key', at('owner.test-key')];
    const halfway = await runCommand('policy', ...policy, '--log-policy', site.policyFile);
    expect(halfway.json).toMatchObject({ error: { code: 'LOG_ISSUER_NAME' } });
    const other = await runCommand('policy', ...policy, '--log-policy', site.policyFile, '--issuer', 'other.example');
    expect(other.json).toMatchObject({ error: { code: 'LOG_ISSUER', action: expect.stringContaining('"issuers"') } });
  });
});
