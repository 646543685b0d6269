import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kdsChainUrl, kdsVcekUrl, parseSnpReport, productLayout, readTcb } from '#attestation';
import { encodeSessionEvidence, parseSessionEvidence, type SessionEvidence } from '#attestation/records';
import { CollateralStore } from '#libs/collateral';
import type { EnclaveClient } from '#libs/enclave-channel';
import { fakeAmd, type FakeAmd } from '#test/fake-amd';
import { ReplayServer } from '#test/replay-server';
import { endorsed, withEndorsements } from './endorsements.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const word = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(1);
const path = (url: string): string => url.slice(new URL(url).origin.length);
const pem = (der: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(der)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;

let kds: ReplayServer;
let directory: string;
let store: CollateralStore;
beforeEach(async () => {
  kds = new ReplayServer();
  directory = mkdtempSync(join(tmpdir(), 'veritrain-endorsements-'));
  store = new CollateralStore({ directory, mirrors: { 'https://kdsintf.amd.com': await kds.listen() } });
});
afterEach(async () => {
  await kds.close();
  rmSync(directory, { recursive: true });
});

/** What AMD's service says of this chip. */
async function known(amd: FakeAmd, leaf: Uint8Array | null = amd.certificates[0]!): Promise<string> {
  const { product } = amd.vendor;
  const report = parseSnpReport(await amd.report());
  const vcek = path(kdsVcekUrl(product, report.chipId, readTcb(report.reportedTcb, productLayout[product])));
  if (leaf !== null) kds.on(vcek, { body: leaf });
  kds.on(path(kdsChainUrl(product, 'vcek')), { body: amd.certificates.slice(1).map(pem).join('') });
  return vcek;
}

async function evidenceOf(
  amd: FakeAmd,
  certificates: readonly Uint8Array[],
  kind: SessionEvidence['cpu']['kind'] = 'snp',
): Promise<Uint8Array> {
  const keys = { receiptKey: word(32), settlementKey: word(20), transportKey: word(32), provider: word(20) };
  return encodeSessionEvidence({
    version: 2,
    proof: word(64),
    nonce: word(32),
    binding: { ...keys, chainId: 1, registry: word(20) },
    cpu: { kind, report: await amd.report(), certificates: [...certificates] },
    gpus: [],
    claims: new Uint8Array(),
  });
}

const certificatesOf = (evidence: Uint8Array): readonly string[] =>
  parseSessionEvidence(evidence).cpu.certificates.map(hex);

describe.each(['milan', 'turin'] as const)('evidence of a %s', (name) => {
  const amd = fakeAmd(name);
  const [vcek, ask, ark] = amd.certificates.map((bytes) => new Uint8Array(bytes)) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];

  it('A-M6 without certificates gets VCEK, ASK and ARK, and stays the same otherwise', async () => {
    await known(amd);
    const bare = await evidenceOf(amd, []);
    const whole = await endorsed(bare, store);
    expect(certificatesOf(whole)).toEqual([vcek, ask, ark].map(hex));
    const [before, after] = [parseSessionEvidence(bare), parseSessionEvidence(whole)];
    expect({ ...after, cpu: { ...after.cpu, certificates: [] } }).toEqual(before);
    const seen = kds.seen.length;
    expect(await endorsed(bare, store)).toEqual(whole);
    expect(kds.seen).toHaveLength(seen);
  });

  it.each([
    ['the leaf alone', () => [vcek]],
    ['issuers alone', () => [ask, ark]],
    ['bytes that are none', () => [word(40)]],
  ])('A-M6 with %s gets what is missing', async (_what, given) => {
    await known(amd);
    expect(certificatesOf(await endorsed(await evidenceOf(amd, given()), store))).toEqual([vcek, ask, ark].map(hex));
  });

  it('A-M6 with the VCEK of firmware that it has outgrown gets the one of its TCB', async () => {
    await known(amd);
    const old = await amd.leaf({ tcb: { ...amd.vendor.tcb, microcode: 0 } });
    expect(certificatesOf(await endorsed(await evidenceOf(amd, [old, ask, ark]), store))).toEqual(
      [vcek, ask, ark].map(hex),
    );
  });

  it('with all of them asks nobody', async () => {
    const whole = await evidenceOf(amd, [ark, vcek, ask]);
    expect(await endorsed(whole, store)).toEqual(whole);
    const simulated = await evidenceOf(amd, [], 'simulated-snp');
    expect(await endorsed(simulated, store)).toEqual(simulated);
    expect(kds.seen).toEqual([]);
  });

  it('A-M6 of a chip that the service does not know is refused with a code', async () => {
    await known(amd, null);
    const refused = endorsed(await evidenceOf(amd, []), store);
    await expect(refused).rejects.toMatchObject({ code: 'HOST_ENDORSEMENT', family: 'rejection' });
  });

  it('A-M6 of a chip for which the service gives the certificate of another is refused', async () => {
    await known(amd, await amd.leaf({ hwid: new Uint8Array(amd.vendor.hwid.length).fill(7) }));
    await expect(endorsed(await evidenceOf(amd, []), store)).rejects.toMatchObject({ code: 'HOST_ENDORSEMENT' });
  });

  it('A-M6 waits for another try while the service cannot be asked', async () => {
    const offline = new CollateralStore({ directory, offline: true });
    const refused = endorsed(await evidenceOf(amd, []), offline);
    await expect(refused).rejects.toMatchObject({ code: 'HOST_ENDORSEMENT_AWAY', family: 'collateral' });
  });

  it('A-M6 is completed whoever asks the enclave for it: lease, worker or renewal', async () => {
    await known(amd);
    const bare = await evidenceOf(amd, []);
    const asked: string[] = [];
    const enclave = { request: async (type: string) => (asked.push(type), bare) } as unknown as EnclaveClient;
    const shown = withEndorsements(enclave, store);
    expect(certificatesOf(await shown.request('attest', { nonce: word(32) }))).toEqual([vcek, ask, ark].map(hex));
    expect(await shown.request('cancel', {})).toEqual(bare);
    expect(asked).toEqual(['attest', 'cancel']);
  });
});
