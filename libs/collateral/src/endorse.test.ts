import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { appraise, kdsVcekUrl, neutralPolicy, parseSnpReport, readTcb, type Evidence } from '#attestation';
import { ReplayServer, TestClock } from '#test/replay-server';
import { collectEndorsements, CollateralStore } from './index.js';

const vectors = process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors';
const read = (file: string) => new Uint8Array(readFileSync(join(vectors, file)));
const text = (file: string) => new TextDecoder().decode(read(file));

describe.skipIf(!existsSync(vectors))('collectEndorsements, from recorded answers', () => {
  let server: ReplayServer;
  let directory: string;
  let store: (offline?: boolean) => CollateralStore;

  beforeEach(async () => {
    server = new ReplayServer();
    const base = await server.listen();
    directory = mkdtempSync(join(tmpdir(), 'collateral-'));
    const clock = new TestClock(0);
    const toServer = (url: string) => base + url.slice(new URL(url).origin.length);
    store = (offline = false) =>
      new CollateralStore(
        { directory, offline },
        {
          fetch: (url, init) => fetch(toServer(url), init),
          now: () => clock.now,
          sleep: clock.sleep,
          abortAfter: (milliseconds) => AbortSignal.timeout(milliseconds),
        },
      );
  });
  afterEach(async () => {
    await server.close();
    rmSync(directory, { recursive: true });
  });

  /** Online, then offline from what was kept: both must give the same. */
  async function collect(evidence: Evidence, at: number) {
    const online = await collectEndorsements(store(), evidence, at);
    const requests = server.seen.length;
    const offline = await collectEndorsements(store(true), evidence, at);
    expect(offline.endorsements).toEqual(online.endorsements);
    expect(server.seen.length).toBe(requests);
    const { tier } = await appraise({ evidence, endorsements: offline.endorsements, policy: neutralPolicy, at });
    return { ...online, tier, codes: online.missing.map(({ code }) => code) };
  }

  const path = (url: string) => url.slice(new URL(url).origin.length);
  const pem = (...names: string[]) => names.map((name) => text(`amd-snp/anchors/${name}.pem`)).join('');

  it('AMD: the VCEK of the reported chip and TCB, its chain; the list is reported missing', async () => {
    const bytes = read('amd-snp/genoa-v3-vcek-azure/report.bin');
    const report = parseSnpReport(bytes);
    const vcek = read('amd-snp/genoa-v3-vcek-azure/vcek.der');
    server
      .on(path(kdsVcekUrl('Genoa', report.chipId, readTcb(report.reportedTcb, 0))), { body: vcek })
      .on('/vcek/v1/Genoa/cert_chain', { body: pem('ask-genoa', 'ark-genoa') });
    const { endorsements, codes, tier } = await collect({ kind: 'snp', report: bytes }, 1_781_481_600);
    expect(endorsements.certificates.length).toBe(3);
    expect(endorsements.certificates[0]).toEqual(vcek);
    expect(codes).toEqual(['COLLATERAL_NOT_FOUND']);
    expect(tier).toBe('warning');
  });

  it('AMD: a report that names no product is tried under both', async () => {
    const bytes = read('amd-snp/milan-v2-vcek-azure/report.bin');
    const report = parseSnpReport(bytes);
    const target = (product: 'Milan' | 'Genoa') =>
      path(kdsVcekUrl(product, report.chipId, readTcb(report.reportedTcb, 0)));
    server.on(target('Genoa'), { body: read('amd-snp/milan-v2-vcek-azure/vcek.der') });
    await collectEndorsements(store(), { kind: 'snp', report: bytes }, 0);
    expect(server.seen.slice(0, 2)).toEqual([`GET ${target('Milan')}`, `GET ${target('Genoa')}`]);
    expect(server.seen.slice(2)).toEqual(['GET /vcek/v1/Genoa/cert_chain', 'GET /vcek/v1/Genoa/crl']);
  });

  it('NVIDIA: both manifests, and one question for every certificate between leaf and root', async () => {
    const folder = 'nvidia-gpu/h100-550.90.07-full';
    for (const [id, file] of [
      ['NV_GPU_DRIVER_GH100_550.90.07', 'driver-rim.xml'],
      ['NV_GPU_VBIOS_1010_0200_882_96009F0001', 'vbios-rim.xml'],
    ] as const) {
      const xml = read(`${folder}/${file}`);
      const sha256 = createHash('sha256').update(xml).digest('hex');
      server.on(`/v1/rim/${id}`, { body: JSON.stringify({ id, rim: Buffer.from(xml).toString('base64'), sha256 }) });
    }
    server.on('/', { body: Uint8Array.of(0x30, 3, 0x0a, 1, 6) });
    const evidence: Evidence = {
      kind: 'nvidia',
      report: read(`${folder}/report.bin`),
      certificateChain: text(`${folder}/cert-chain.pem`),
    };
    const at = Date.parse('2026-03-01T00:00:00Z') / 1000;
    const { endorsements, codes } = await collect(evidence, at);
    expect(codes).toEqual([]);
    expect(endorsements.rims.length).toBe(2);
    const asked = server.bodies.filter((body) => body.length > 0).map((body) => body.toString('hex'));
    expect(new Set(asked).size).toBe(asked.length);
    expect(endorsements.ocspAnswers.length).toBe(asked.length);
    expect(asked.length).toBeGreaterThanOrEqual(3 + 2);
  });

  it('Intel: everything that a TDX quote needs to be affirmed', async () => {
    const folder = 'intel-tdx/v4-td10-with-collateral';
    const bundle = JSON.parse(text(`${folder}/collateral.json`)) as Record<string, string>;
    const signed = (name: string, key: string, header: string) => ({
      body: `{"${name}":${bundle[key]},"signature":"${bundle[`${key}_signature`]}"}`,
      headers: { [header]: encodeURIComponent(bundle[`${key}_issuer_chain`]!) },
    });
    const der = (key: string) => ({ body: Buffer.from(bundle[key]!, 'hex') });
    server
      .on('/tdx/certification/v4/tcb?fmspc=B0C06F000000', signed('tcbInfo', 'tcb_info', 'TCB-Info-Issuer-Chain'))
      .on(
        '/tdx/certification/v4/qe/identity',
        signed('enclaveIdentity', 'qe_identity', 'SGX-Enclave-Identity-Issuer-Chain'),
      )
      .on('/IntelSGXRootCA.der', der('root_ca_crl'))
      .on('/sgx/certification/v4/pckcrl?ca=platform&encoding=der', der('pck_crl'));
    const at = Date.parse('2025-06-19T12:00:00Z') / 1000;
    const { codes, tier } = await collect({ kind: 'tdx', quote: read(`${folder}/quote.bin`) }, at);
    expect(codes).toEqual([]);
    expect(tier).toBe('affirming');
  });

  it('reports what it could not get, and refuses evidence that cannot be read', async () => {
    const quote = read('intel-sgx/v3-with-collateral/quote.bin');
    const { endorsements, codes, tier } = await collect({ kind: 'sgx', quote }, 1_750_334_400);
    expect(codes).toEqual(Array.from({ length: 4 }, () => 'COLLATERAL_NOT_FOUND'));
    expect(endorsements).toMatchObject({ collateral: {}, crls: [] });
    expect(tier).toBe('none');
    expect(server.seen).toContain('GET /sgx/certification/v4/pckcrl?ca=processor&encoding=der');
    await expect(collectEndorsements(store(), { kind: 'sgx', quote: quote.subarray(0, 99) }, 0)).rejects.toThrow(
      'QUOTE_TRUNCATED',
    );
    server.on('/vcek/v1/Milan/cert_chain', {
      body: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'.repeat(2),
    });
    const report = read('amd-snp/milan-v2-vcek-azure/report.bin');
    const { missing } = await collectEndorsements(store(), { kind: 'snp', report }, 0);
    expect(missing.length).toBe(3);
  });
});
