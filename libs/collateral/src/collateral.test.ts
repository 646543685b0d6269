import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { appraiseQuote, neutralQuotePolicy, verifyQuote, type Tcb } from '#attestation';
import { fakeIntel } from '#test/fake-intel';
import { ReplayServer, TestClock } from '#test/replay-server';
import { readRetryAfter } from './download.js';
import { AmdKds, CollateralStore, IntelPcs, NvidiaServices, prefetch, type StoreSettings } from './index.js';

const vectors = process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors';
const start = Date.parse('2025-06-19T12:00:00Z');
const day = 86_400_000;

let server: ReplayServer;
let base: string;
let directory: string;
let clock: TestClock;
let down: boolean;
let timeoutMs: number;
/** Requests sent, whether or not the server came to see them. */
let asked: number;

beforeEach(async () => {
  server = new ReplayServer();
  base = await server.listen();
  directory = mkdtempSync(join(tmpdir(), 'collateral-'));
  clock = new TestClock(start);
  down = false;
  timeoutMs = 20_000;
  asked = 0;
});
afterEach(async () => {
  await server.close();
  rmSync(directory, { recursive: true });
});

function openStore(settings: Partial<StoreSettings> = {}): CollateralStore {
  const origins = [
    'https://kdsintf.amd.com',
    'https://rim.attestation.nvidia.com',
    'https://ocsp.ndis.nvidia.com',
    'https://api.trustedservices.intel.com',
    'https://certificates.trustedservices.intel.com',
  ];
  const mirrors = Object.fromEntries(origins.map((origin) => [origin, base]));
  return new CollateralStore(
    { directory, mirrors, ...settings },
    {
      fetch: (url, init) => {
        expect(url.startsWith(`${base}/`)).toBe(true);
        asked++;
        return down ? Promise.reject(new TypeError('fetch failed')) : fetch(url, init);
      },
      now: () => clock.now,
      sleep: clock.sleep,
      abortAfter: () => AbortSignal.timeout(timeoutMs),
    },
  );
}

const code = async (promise: Promise<unknown>) => {
  const error: unknown = await promise.then(
    () => expect.unreachable('it should have failed'),
    (failed: unknown) => failed,
  );
  return (error as { code: string }).code;
};

const chip = Uint8Array.from({ length: 64 }, (_, i) => i);
const tcb: Tcb = { bootLoader: 3, tee: 0, snp: 22, microcode: 209 };
const turinTcb: Tcb = { fmc: 1, ...tcb };
const hex = Buffer.from(chip).toString('hex');
const vcekPath = `/vcek/v1/Milan/${hex}?blSPL=03&teeSPL=00&snpSPL=22&ucodeSPL=209`;
const someDer = Uint8Array.of(0x30, 3, 2, 1, 5);

describe('the store', () => {
  it('asks once, keeps the answer for ever, on disk', async () => {
    server.on(vcekPath, { body: someDer });
    const first = await new AmdKds(openStore()).vcek('Milan', chip, tcb);
    expect(first).toMatchObject({ body: someDer, fetchedAt: start, stale: false });
    clock.advance(5000 * day);
    expect((await new AmdKds(openStore()).vcek('Milan', chip, tcb)).body).toEqual(someDer);
    expect((await new AmdKds(openStore({ offline: true })).vcek('Milan', chip, tcb)).stale).toBe(false);
    expect(server.seen).toEqual([`GET ${vcekPath}`]);
  });

  it('keys by product, chip and TCB', async () => {
    const kds = new AmdKds(openStore());
    const turin = `/vcek/v1/Turin/${hex.slice(0, 16)}?fmcSPL=01&blSPL=03&teeSPL=00&snpSPL=22&ucodeSPL=209`;
    const genoa = vcekPath.replace('Milan', 'Genoa');
    const newer = vcekPath.replace('209', '210');
    for (const path of [vcekPath, turin, genoa, newer]) server.on(path, { body: someDer });
    await kds.vcek('Milan', chip, tcb);
    await kds.vcek('Turin', chip, turinTcb);
    await kds.vcek('Genoa', chip, tcb);
    await kds.vcek('Milan', chip, { ...tcb, microcode: 210 });
    expect(server.seen).toEqual([vcekPath, turin, genoa, newer].map((path) => `GET ${path}`));
  });

  it('sends one request for many askers', async () => {
    server.on(vcekPath, { body: someDer });
    const kds = new AmdKds(openStore());
    const answers = await Promise.all(Array.from({ length: 20 }, () => kds.vcek('Milan', chip, tcb)));
    expect(answers.every(({ body }) => Buffer.from(body).equals(someDer))).toBe(true);
    expect(server.seen.length).toBe(1);
  });

  it('lets a failure be tried again', async () => {
    server.on(vcekPath, { status: 404 }, { body: someDer });
    const kds = new AmdKds(openStore());
    const both = [kds.vcek('Milan', chip, tcb), kds.vcek('Milan', chip, tcb)];
    expect(await Promise.all(both.map(code))).toEqual(['COLLATERAL_NOT_FOUND', 'COLLATERAL_NOT_FOUND']);
    expect((await kds.vcek('Milan', chip, tcb)).body).toEqual(someDer);
    expect(server.seen.length).toBe(2);
  });

  it('refreshes lists after a day and serves the old one while the service is away', async () => {
    server.on('/vcek/v1/Milan/crl', { body: someDer }, { body: Uint8Array.of(0x30, 0) });
    const kds = new AmdKds(openStore());
    await kds.crl('Milan', 'vcek');
    clock.advance(day - 1);
    expect((await kds.crl('Milan', 'vcek')).body).toEqual(someDer);
    expect(server.seen.length).toBe(1);
    clock.advance(1);
    down = true;
    expect(await kds.crl('Milan', 'vcek')).toMatchObject({ body: someDer, stale: true, fetchedAt: start });
    expect((await new AmdKds(openStore({ offline: true })).crl('Milan', 'vcek')).stale).toBe(true);
    down = false;
    expect(await kds.crl('Milan', 'vcek')).toMatchObject({ body: Uint8Array.of(0x30, 0), stale: false });
  });

  it('says what is missing offline, and touches no network', async () => {
    const kds = new AmdKds(openStore({ offline: true }));
    expect(await code(kds.vcek('Milan', chip, tcb))).toBe('COLLATERAL_OFFLINE');
    expect(server.seen).toEqual([]);
  });

  it('takes damaged, foreign and half-written files for absent', async () => {
    server.on(vcekPath, { body: someDer });
    const file = () => {
      const [folder] = readdirSync(directory) as [string];
      const [name, ...more] = readdirSync(join(directory, folder)) as [string, ...string[]];
      expect(more).toEqual([]);
      return join(directory, folder, name);
    };
    const kds = new AmdKds(openStore());
    await kds.vcek('Milan', chip, tcb);
    const good = readFileSync(file());
    const flipped = Buffer.from(good);
    flipped[good.length - 1]! ^= 1;
    for (const bad of [
      flipped,
      good.subarray(0, -1),
      Buffer.alloc(0),
      Buffer.from('{}\n'),
      Buffer.from('null\n'),
      good.subarray(5),
    ]) {
      writeFileSync(file(), bad);
      expect((await kds.vcek('Milan', chip, tcb)).body).toEqual(someDer);
    }
    expect(server.seen.length).toBe(7);
    expect(readFileSync(file()).equals(good)).toBe(true);
  });

  it('forgets what verification did not accept', async () => {
    server.on(vcekPath, { body: someDer }, { body: Uint8Array.of(0x30, 0) });
    const store = openStore();
    const { key } = await new AmdKds(store).vcek('Milan', chip, tcb);
    await store.forget(key);
    expect((await new AmdKds(store).vcek('Milan', chip, tcb)).body).toEqual(Uint8Array.of(0x30, 0));
  });

  it('reports an unusable directory as a matter of configuration', async () => {
    writeFileSync(join(directory, 'file'), '');
    server.on(vcekPath, { body: someDer });
    const kds = new AmdKds(openStore({ directory: join(directory, 'file') }));
    expect(await code(kds.vcek('Milan', chip, tcb))).toBe('COLLATERAL_DIRECTORY');
  });
});

describe('the way to a service', () => {
  it('waits as long as Retry-After says, all requests to that host', async () => {
    const other = vcekPath.replace('209', '210');
    server
      .on(vcekPath, { status: 429, headers: { 'retry-after': '10' } }, { body: someDer })
      .on(other, { body: someDer });
    const kds = new AmdKds(openStore());
    await kds.vcek('Milan', chip, tcb);
    expect(clock.slept).toEqual([10_000]);
    server.on(vcekPath.replace('Milan', 'Genoa'), { status: 429, headers: { 'retry-after': '600' } });
    expect(await code(kds.vcek('Genoa', chip, tcb))).toBe('COLLATERAL_RATE_LIMITED');
    expect(await code(kds.vcek('Milan', chip, { ...tcb, microcode: 210 }))).toBe('COLLATERAL_RATE_LIMITED');
    expect(server.seen.length).toBe(3);
    clock.advance(600_000);
    expect((await kds.vcek('Milan', chip, { ...tcb, microcode: 210 })).body).toEqual(someDer);
  });

  it('backs off twice as long each time without Retry-After, and gives up', async () => {
    server.on(vcekPath, { status: 429 });
    expect(await code(new AmdKds(openStore()).vcek('Milan', chip, tcb))).toBe('COLLATERAL_RATE_LIMITED');
    expect(clock.slept).toEqual([1000, 2000, 4000, 8000]);
    expect(server.seen.length).toBe(5);
  });

  it('tries again after 5xx and dropped connections, not after 4xx', async () => {
    server.on(vcekPath, { status: 503 }, { status: 502 }, { body: someDer });
    await new AmdKds(openStore()).vcek('Milan', chip, tcb);
    expect(clock.slept).toEqual([1000, 2000]);
    server.on('/vcek/v1/Milan/crl', { status: 400 });
    expect(await code(new AmdKds(openStore()).crl('Milan', 'vcek'))).toBe('COLLATERAL_STATUS');
    down = true;
    expect(await code(new AmdKds(openStore()).crl('Genoa', 'vcek'))).toBe('COLLATERAL_UNREACHABLE');
  });

  it('follows no redirect', async () => {
    server
      .on(vcekPath, { status: 302, headers: { location: `${base}/elsewhere` } })
      .on('/elsewhere', { body: someDer });
    expect(await code(new AmdKds(openStore()).vcek('Milan', chip, tcb))).toBe('COLLATERAL_UNREACHABLE');
    expect(server.seen).not.toContain('GET /elsewhere');
  });

  it('refuses answers that are too large, declared or not', async () => {
    server.on(vcekPath, { body: new Uint8Array(16 * 1024 + 1) });
    expect(await code(new AmdKds(openStore()).vcek('Milan', chip, tcb))).toBe('COLLATERAL_TOO_LARGE');
    server.on('/vcek/v1/Milan/crl', { endless: 64 * 1024 * 1024 });
    expect(await code(new AmdKds(openStore()).crl('Milan', 'vcek'))).toBe('COLLATERAL_TOO_LARGE');
  });

  it('does not wait for a service that keeps silent', async () => {
    timeoutMs = 100;
    server.on(vcekPath, { silent: true });
    expect(await code(new AmdKds(openStore()).vcek('Milan', chip, tcb))).toBe('COLLATERAL_TIMEOUT');
    expect(asked).toBe(5);
    server.on('/vcek/v1/Milan/crl', { headers: { 'content-length': '9' }, body: someDer, stalls: true });
    expect(await code(new AmdKds(openStore()).crl('Milan', 'vcek'))).toBe('COLLATERAL_TIMEOUT');
  });

  it('keeps no error page', async () => {
    const page = { body: '<html>maintenance</html>' };
    server.on(vcekPath, page).on('/vcek/v1/Milan/cert_chain', page).on('/v1/rim/X', page);
    const kds = new AmdKds(openStore());
    expect(await code(kds.vcek('Milan', chip, tcb))).toBe('COLLATERAL_FORMAT');
    expect(await code(kds.chain('Milan', 'vcek'))).toBe('COLLATERAL_FORMAT');
    expect(await code(new NvidiaServices(openStore()).rim('X'))).toBe('COLLATERAL_FORMAT');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('reads Retry-After as seconds or date', () => {
    expect(readRetryAfter('7', start)).toBe(7000);
    expect(readRetryAfter('Thu, 19 Jun 2025 12:00:30 GMT', start)).toBe(30_000);
    expect(readRetryAfter('Thu, 19 Jun 2025 11:00:00 GMT', start)).toBe(0);
    expect(readRetryAfter('soon', start)).toBeUndefined();
    expect(readRetryAfter(null, start)).toBeUndefined();
  });
});

describe('NVIDIA', () => {
  const xml = '<SoftwareIdentity/>';
  const sha256 = createHash('sha256').update(xml).digest('hex');
  const rim = Buffer.from(xml).toString('base64');
  const id = 'NV_GPU_DRIVER_GH100_550.90.07';

  it('hands out the XML of a RIM whose digest fits', async () => {
    server.on(`/v1/rim/${id}`, { body: JSON.stringify({ id, rim, sha256, request_id: 'r' }) });
    const services = new NvidiaServices(openStore());
    expect(Buffer.from(await services.rim(id)).toString()).toBe(xml);
    expect(Buffer.from(await services.rim(id)).toString()).toBe(xml);
    expect(server.seen.length).toBe(1);
  });

  it('refuses another id, another digest, and ids that are paths', async () => {
    const services = new NvidiaServices(openStore());
    for (const body of [{ id: 'Y', rim, sha256 }, { id, rim, sha256: '00' }, { id, rim: 5, sha256 }, null, [1]]) {
      server.on(`/v1/rim/${id}`, { body: JSON.stringify(body) });
      expect(await code(services.rim(id))).toBe('COLLATERAL_FORMAT');
    }
    for (const bad of ['../../x', 'a/b', '', 'a?b', 'x'.repeat(129)]) {
      expect(await code(services.rim(bad))).toBe('COLLATERAL_NOT_FOUND');
    }
  });

  it('asks the responder with the certificate’s names, each time anew with a nonce', async () => {
    const issuer = { subject: Uint8Array.of(0x30, 0), spki: Uint8Array.from([0x30, 8, 0x30, 2, 5, 0, 3, 2, 0, 7]) };
    const subject = { serial: '00ff01' };
    server.on('/', { body: someDer });
    const services = new NvidiaServices(openStore());
    await services.ocsp(subject, issuer);
    await services.ocsp(subject, issuer);
    expect(server.seen).toEqual(['POST /']);
    const sha1 = (bytes: number[]) => createHash('sha1').update(Uint8Array.from(bytes)).digest('hex');
    const certId = `303c300906052b0e03021a05000414${sha1([0x30, 0])}0414${sha1([7])}020300ff01`;
    expect(server.bodies[0]!.toString('hex')).toBe(`30443042304030 3e${certId}`.replaceAll(' ', ''));
    const nonce = new Uint8Array(32).fill(5);
    await services.ocsp(subject, issuer, nonce);
    await services.ocsp(subject, issuer, nonce);
    expect(server.seen.length).toBe(3);
    expect(server.bodies[2]!.toString('hex')).toContain(`06092b060105050730010204220420${'05'.repeat(32)}`);
    clock.advance(3_600_000);
    await services.ocsp(subject, issuer);
    expect(server.seen.length).toBe(4);
  });
});

describe('Intel', () => {
  const tcbPath = '/tdx/certification/v4/tcb?fmspc=B0C06F000000';
  const qePath = '/tdx/certification/v4/qe/identity';
  const pckPath = '/sgx/certification/v4/pckcrl?ca=platform&encoding=der';
  const fmspc = Uint8Array.from(Buffer.from('b0c06f000000', 'hex'));
  const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

  function publish(parts: {
    collateral: Awaited<ReturnType<typeof fakeIntel>>['collateral'];
    crls: readonly Uint8Array[];
  }) {
    const { tcbInfo, qeIdentity } = parts.collateral;
    const chain = (name: string, pem: string) => ({ [name]: encodeURIComponent(pem) });
    server
      .on(tcbPath, {
        body: `{"tcbInfo":${tcbInfo.json},"signature":"${hexOf(tcbInfo.signature)}"}`,
        headers: chain('TCB-Info-Issuer-Chain', tcbInfo.chain),
      })
      .on(qePath, {
        body: `{"enclaveIdentity":${qeIdentity.json},"signature":"${hexOf(qeIdentity.signature)}"}`,
        headers: chain('SGX-Enclave-Identity-Issuer-Chain', qeIdentity.chain),
      })
      .on('/IntelSGXRootCA.der', { body: parts.crls[0]! })
      .on(pckPath, { body: parts.crls[1]! });
  }

  it('fetches what a quote needs to be affirmed, then works offline', async () => {
    const fake = await fakeIntel();
    publish(fake);
    const affirm = async (store: CollateralStore) => {
      const pcs = new IntelPcs(store);
      const { document: tcbInfo, stale } = await pcs.tcbInfo('tdx', fmspc);
      const { document: qeIdentity } = await pcs.qeIdentity('tdx');
      const crls = [(await pcs.rootCrl()).body, (await pcs.pckCrl('platform')).body];
      const collateral = { tcbInfo, qeIdentity };
      const { claims, checks } = await verifyQuote({
        quote: fake.quote,
        at: fake.at,
        pins: fake.pins,
        collateral,
        crls,
      });
      const failed = [...checks, ...appraiseQuote(claims!, neutralQuotePolicy)].filter(
        ({ status }) => status !== 'met',
      );
      expect(failed).toEqual([]);
      return stale;
    };
    expect(await affirm(openStore())).toBe(false);
    clock.advance(2 * day);
    expect(await affirm(openStore({ offline: true }))).toBe(true);
    expect(server.seen.length).toBe(4);
  });

  it('refuses an answer without its chain', async () => {
    const fake = await fakeIntel();
    publish(fake);
    const { json, signature } = fake.collateral.tcbInfo;
    const body = `{"tcbInfo":${json},"signature":"${hexOf(signature)}"}`;
    const none: Record<string, string> = {};
    for (const headers of [none, { 'TCB-Info-Issuer-Chain': '%zz' }, { 'TCB-Info-Issuer-Chain': 'none' }]) {
      server.on(tcbPath, { body, headers });
      expect(await code(new IntelPcs(openStore()).tcbInfo('tdx', fmspc))).toBe('COLLATERAL_FORMAT');
    }
  });
});

describe('prefetch', () => {
  it('goes on after a failure and reports it', async () => {
    server.on(vcekPath, { body: someDer });
    const kds = new AmdKds(openStore());
    const report = await prefetch(
      new Map([
        ['chain', () => kds.chain('Milan', 'vcek')],
        ['vcek', () => kds.vcek('Milan', chip, tcb)],
      ]),
    );
    expect(report.fetched).toEqual(['vcek']);
    expect(report.failed.map(({ name, error }) => `${name} ${error.code}`)).toEqual(['chain COLLATERAL_NOT_FOUND']);
    expect((await new AmdKds(openStore({ offline: true })).vcek('Milan', chip, tcb)).body).toEqual(someDer);
  });
});

describe.skipIf(!existsSync(vectors))('recorded answers of real services', () => {
  const read = (file: string) => new Uint8Array(readFileSync(join(vectors, file)));

  it('AMD: a VCEK and the Genoa chain', async () => {
    const vcek = read('amd-snp/genoa-v3-vcek-azure/vcek.der');
    const chain = Buffer.concat([read('amd-snp/anchors/ask-genoa.pem'), read('amd-snp/anchors/ark-genoa.pem')]);
    server.on(vcekPath.replace('Milan', 'Genoa'), { body: vcek }).on('/vcek/v1/Genoa/cert_chain', { body: chain });
    const kds = new AmdKds(openStore());
    expect((await kds.vcek('Genoa', chip, tcb)).body).toEqual(vcek);
    expect(Buffer.from((await kds.chain('Genoa', 'vcek')).body).equals(chain)).toBe(true);
  });

  it('NVIDIA: a driver RIM', async () => {
    const xml = read('nvidia-gpu/h100-550.90.07-full/driver-rim.xml');
    const id = 'NV_GPU_DRIVER_GH100_550.90.07';
    const sha256 = createHash('sha256').update(xml).digest('hex');
    server.on(`/v1/rim/${id}`, { body: JSON.stringify({ id, rim: Buffer.from(xml).toString('base64'), sha256 }) });
    expect(await new NvidiaServices(openStore()).rim(id)).toEqual(xml);
  });
});
