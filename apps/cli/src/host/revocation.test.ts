/** What `veritrain host preflight` says of the key above a chip's: asked, not asked and why, revoked. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifySnp, type SnpClaims } from '#attestation';
import { toBase64 } from '#attestation/base';
import { AmdKds, CollateralStore } from '#libs/collateral';
import { fakeAmd, fakeAmdAt } from '#test/fake-amd';
import { samplesRoot } from '#test/samples';
import { firmwareChecks } from './firmware.js';
import { revocationCheck } from './revocation.js';

/** Only AMD could sign a list that names its key: for one test the judge finds the key of a recorded machine on it. */
const revoking = vi.hoisted(() => ({ now: false }));
vi.mock('#attestation', async (original) => {
  const real = await original<typeof import('#attestation')>();
  const verify: typeof verifySnp = async (request) => {
    const { claims, ...verified } = await real.verifySnp(request);
    if (!claims) return verified;
    const revocation = { state: 'revoked', unusable: [] } as const;
    return { ...verified, claims: revoking.now && request.crls.length > 0 ? { ...claims, revocation } : claims };
  };
  return { ...real, verifySnp: verify };
});

const folder = mkdtempSync(join(tmpdir(), 'veritrain-revocation-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const milan = fakeAmd('milan');

describe('a list of the chain', () => {
  const judged = async (crls: readonly Uint8Array[]): Promise<SnpClaims> => {
    const { certificates, roots } = milan;
    const report = await milan.report();
    return (await verifySnp({ report, certificates, crls, at: fakeAmdAt, simulatedRoots: roots })).claims!;
  };
  const check = async (...crls: readonly Uint8Array[]) =>
    revocationCheck((await judged(crls)).revocation, { crls, from: 'a.crl' });

  it.each([
    ['a current list that names others', {}, 'ok', /^a\.crl: not revoked, of 2026-.* until 2027-/],
    ['a list that names the ASK', { revokedSerials: ['010001'] }, 'missing', /^a\.crl: REVOKED/],
    [
      'a list that has ended',
      { nextUpdate: fakeAmdAt - 1 },
      'warning',
      /^not checked: the list is not current: a\.crl/,
    ],
    [
      'a list of another issuer',
      { issuerName: 'ARK-Genoa' },
      'warning',
      /^not checked: a\.crl is not usable: CRL_ISSUER/,
    ],
  ] as const)('%s', async (_, options, state, found) => {
    expect(await check(await milan.crl(options))).toMatchObject({
      state,
      found: expect.stringMatching(found) as string,
    });
  });

  it('is not there: the check says so, and why', async () => {
    const none = revocationCheck((await judged([])).revocation, { crls: [], from: 'COLLATERAL_OFFLINE: not kept' });
    expect(none).toMatchObject({ state: 'warning', found: 'not checked: COLLATERAL_OFFLINE: not kept' });
  });
});

describe.skipIf(!existsSync(samplesRoot))('of a recorded machine', () => {
  const recorded = (...parts: readonly string[]): string => join(samplesRoot, 'amd-snp', ...parts);
  const all = async (more: { readonly crl?: string; readonly cache?: string } = {}) => {
    const files = { report: recorded('milan-v3-vcek', 'report.bin'), vcek: at('chain.pem') };
    return (await firmwareChecks({ ...files, offline: true, cache: at('empty'), ...more })).checks;
  };
  const preflight = async (more = {}) => (await all(more)).find(({ name }) => name === 'revocation list');

  beforeAll(() => {
    const der = readFileSync(recorded('milan-v3-vcek', 'vcek.der'));
    const leaf = `-----BEGIN CERTIFICATE-----\n${toBase64(der).replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
    const issuers = ['ask-milan.pem', 'ark-milan.pem'].map((name) => readFileSync(recorded('anchors', name), 'utf8'));
    writeFileSync(at('chain.pem'), [leaf, ...issuers].join(''));
  });

  it('says that no list was at hand, and why', async () => {
    expect(await preflight()).toMatchObject({
      state: 'warning',
      found: 'not checked: COLLATERAL_OFFLINE: not kept',
      action: expect.stringContaining('--crl') as string,
    });
  });

  it('judges by the list of the operator’s file', async () => {
    writeFileSync(at('other.crl'), await milan.crl());
    const { state, found } = (await preflight({ crl: at('other.crl') }))!;
    expect([state, found]).toEqual(['warning', expect.stringMatching(/other\.crl is not usable: CRL_/)]);
  });

  it('refuses a machine whose key is on the list, and ticks nothing of its firmware', async () => {
    writeFileSync(at('other.crl'), await milan.crl());
    revoking.now = true;
    const checks = await all({ crl: at('other.crl') }).finally(() => (revoking.now = false));
    expect(checks.map(({ name, state }) => [name, state])).toEqual([
      ['firmware TCB', 'warning'],
      ['VCEK certificate', 'ok'],
      ['revocation list', 'missing'],
    ]);
    expect(checks[0]!.found).toContain('nothing vouches');
  });

  it('asks AMD’s service for the list of the product, as it does for certificates', async () => {
    const list = await milan.crl();
    const asked: string[] = [];
    const fetch = (url: string): Promise<Response> => {
      asked.push(url);
      return Promise.resolve(new Response(new Uint8Array(list)));
    };
    const ports = { fetch, now: () => Date.now(), sleep: () => Promise.resolve(), abortAfter: AbortSignal.timeout };
    await new AmdKds(new CollateralStore({ directory: at('kept') }, ports)).crl('Milan', 'vcek');
    expect(asked).toEqual(['https://kdsintf.amd.com/vcek/v1/Milan/crl']);
    expect((await preflight({ cache: at('kept') }))!.found).toMatch(/^not checked: AMD’s service is not usable: CRL_/);
  });

  it('looks at no list for a report that nobody vouches for', async () => {
    const report = recorded('turin-v5-vcek-azure', 'report.bin');
    const { checks } = await firmwareChecks({ report, offline: true, cache: at('empty') });
    expect(checks.at(-1)).toMatchObject({ name: 'revocation list', state: 'skipped' });
  });
});
