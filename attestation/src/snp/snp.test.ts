import { describe, expect, it } from 'vitest';
import { signSnpReport, snpReportSigner, type SnpReportValues } from '#libs/simulated-vendor';
import { fakeAmd, fakeAmdAt, tcbBytes } from '#test/fake-amd';
import { toHex } from '../base/bytes.js';
import { appraiseSnp, neutralSnpPolicy } from './appraise.js';
import type { SnpPolicy } from './appraise.js';
import { verifySnp } from './verify.js';
import type { SnpRequest } from './verify.js';

const at = fakeAmdAt;
const amd = fakeAmd('milan');
const turin = fakeAmd('turin');

async function judge(report: Uint8Array, change: Partial<SnpRequest> = {}, vendor = amd) {
  const request = { report, certificates: vendor.certificates, crls: [], at, simulatedRoots: vendor.roots, ...change };
  const verified = await verifySnp(request);
  const bad = verified.checks.filter(({ status }) => status !== 'met' && status !== 'not-checked');
  return { ...verified, codes: bad.map(({ code, status }) => `${code} ${status}`) };
}

async function refused(values: SnpReportValues, policy: Partial<SnpPolicy>, change: Partial<SnpRequest> = {}) {
  const { claims } = await judge(await amd.report(values), change);
  const checks = appraiseSnp(claims!, { ...neutralSnpPolicy, revocation: 'not-demanded', ...policy }, at);
  return checks.filter(({ status }) => status !== 'met').map(({ code, status }) => `${code} ${status}`);
}

describe('verification', () => {
  it('accepts every version and both layouts', async () => {
    for (const VERSION of [2, 3, 4, 5]) expect((await judge(await amd.report({ VERSION }))).codes).toEqual([]);
    const own = await judge(await turin.report({ VERSION: 5, LAUNCH_MIT_VECTOR: 3n }), {}, turin);
    expect(own.authenticity).toBe('authentic');
    expect(own.claims?.tcb.reported).toEqual(turin.vendor.tcb);
  });

  it('accepts nothing simulated without its root', async () => {
    const report = await amd.report();
    expect((await judge(report, { simulatedRoots: [] })).codes).toContain('X509_PATH_ROOT forged');
    const { simulatedRoots: _, ...bare } = { report, certificates: amd.certificates, crls: [], at, simulatedRoots: [] };
    expect((await verifySnp(bare)).authenticity).toBe('forged');
  });

  it.each([
    ['SNP_REPORT_VMPL', { VMPL: 0xffffffff }],
    ['SNP_REPORT_SIGNATURE_ALGO', { SIGNATURE_ALGO: 2 }],
    ['SNP_REPORT_FLAGS', { FLAGS: 7 << 2 }],
    ['SNP_REPORT_FLAGS', { FLAGS: 2 << 2 }],
    ['SNP_REPORT_FLAGS', { FLAGS: 1 << 5 }],
    ['SNP_REPORT_POLICY_RESERVED', { POLICY: 0x10000n }],
    ['SNP_REPORT_POLICY_RESERVED', { POLICY: 0x30000n | (1n << 26n) }],
    ['SNP_PRODUCT_UNSUPPORTED', { CPUID_FAM_ID: 0x1a, CPUID_MOD_ID: 0x90 }],
    ['SNP_PRODUCT', { CPUID_FAM_ID: 0x19, CPUID_MOD_ID: 0x11 }],
    ['SNP_TCB_RESERVED', { CURRENT_TCB: Uint8Array.of(4, 0, 1, 0, 0, 0, 24, 219) }],
    ['SNP_CERTIFICATE_TCB', { REPORTED_TCB: Uint8Array.of(4, 0, 0, 0, 0, 0, 24, 220) }],
    ['SNP_CERTIFICATE_TCB', { REPORTED_TCB: Uint8Array.of(4, 0, 0, 0, 0, 0, 23, 219) }],
    ['SNP_CHIP_ID', { CHIP_ID: new Uint8Array(64).fill(9) }],
    ['SNP_ENDORSEMENT_KIND', { FLAGS: 1 << 2 }],
  ] as const)('refuses a well-signed report with %s', async (code, values) => {
    const { codes, authenticity } = await judge(await amd.report(values));
    expect(codes).toContain(`${code} forged`);
    expect(authenticity).toBe('forged');
  });

  it('refuses versions it does not know', async () => {
    for (const version of [0, 1, 6]) {
      const report = await amd.report({ VERSION: 5 });
      report[0] = version;
      const { codes } = await judge(await signSnpReport(report, snpReportSigner(amd.vendor.vcekKey)));
      expect(codes).toEqual(['SNP_REPORT_VERSION forged']);
    }
  });

  it('reads a Turin layout only under a Turin endorsement', async () => {
    const report = await turin.report({ VERSION: 5 });
    expect((await judge(report)).authenticity).toBe('forged');
    const mixed = { certificates: [...amd.certificates], simulatedRoots: [...amd.roots, ...turin.roots] };
    expect((await judge(report, mixed)).codes).toContain('SNP_PRODUCT forged');
  });

  it('tells a missing endorsement from a forged one', async () => {
    const report = await amd.report();
    expect((await judge(report, { certificates: [] })).authenticity).toBe('undecided');
    const { codes, authenticity } = await judge(report, { certificates: [amd.vendor.vcek, amd.vendor.ark] });
    expect(codes).toEqual(['X509_PATH_ISSUER_MISSING missing']);
    expect(authenticity).toBe('undecided');
  });

  it('finds the path in every order of the pool', async () => {
    const [a, b, c] = amd.certificates as [Uint8Array, Uint8Array, Uint8Array];
    for (const certificates of [
      [a, b, c],
      [a, c, b],
      [b, a, c],
      [b, c, a],
      [c, a, b],
      [c, b, a],
    ]) {
      expect((await judge(await amd.report(), { certificates })).authenticity).toBe('authentic');
    }
  });
});

describe('endorsements', () => {
  const withLeaf = async (leaf: Promise<Uint8Array>, values: SnpReportValues = {}) =>
    judge(await amd.report(values), { certificates: [await leaf, amd.vendor.ask, amd.vendor.ark] });

  it('judges a VLEK by its own rules', async () => {
    const leaf = () => amd.leaf({ hwid: null, cspId: 'CN=cc-test.example' });
    const masked = { FLAGS: 1 << 2, CHIP_ID: new Uint8Array(64) };
    const good = await withLeaf(leaf(), masked);
    expect(good.authenticity).toBe('authentic');
    expect(good.claims?.chipId).toBeUndefined();
    expect((await withLeaf(leaf(), { FLAGS: 1 << 2 })).codes).toContain('SNP_CHIP_ID forged');
    const check = (policy: Partial<SnpPolicy>) =>
      appraiseSnp(good.claims!, { ...neutralSnpPolicy, ...policy }, at).find(({ code }) => code === 'SNP_VLEK')?.status;
    expect(check({ cspIds: ['CN=cc-test.example'] })).toBe('met');
    expect(check({ cspIds: ['CN=other.example'] })).toBe('refused');
    expect(check({ allowVlek: false })).toBe('refused');
  });

  it('holds the end of a leaf against the time, and a VLEK’s beginning too', async () => {
    expect((await withLeaf(amd.leaf({ notAfter: at - 1 }))).codes).toContain('X509_PATH_EXPIRED refused');
    expect((await withLeaf(amd.leaf({ notBefore: at + 86_400 }))).authenticity).toBe('authentic');
    const vlek = amd.leaf({ hwid: null, cspId: 'CN=test', notBefore: at + 86_400 });
    expect((await withLeaf(vlek, { FLAGS: 1 << 2, CHIP_ID: new Uint8Array(64) })).codes).toContain(
      'X509_PATH_NOT_YET refused',
    );
  });

  it('accepts an hwID in an OCTET STRING and refuses one of another length, or both ids', async () => {
    const wrapped = Uint8Array.of(4, 64, ...amd.vendor.hwid);
    expect((await withLeaf(amd.leaf({ hwid: wrapped }))).authenticity).toBe('authentic');
    expect((await withLeaf(amd.leaf({ hwid: amd.vendor.hwid.subarray(0, 8) }))).codes).toContain(
      'SNP_LEAF_EXTENSIONS forged',
    );
    expect((await withLeaf(amd.leaf({ cspId: 'CN=test' }))).codes).toContain('SNP_LEAF_EXTENSIONS forged');
  });

  it('refuses the right names under another vendor’s key', async () => {
    const other = fakeAmd('milan-other');
    const { codes } = await judge(await other.report(), { certificates: other.certificates });
    expect(codes).toContain('X509_PATH_ROOT forged');
    const mixed = [other.vendor.vcek, amd.vendor.ask, amd.vendor.ark];
    expect((await judge(await other.report(), { certificates: mixed })).codes).toContain('X509_SIGNATURE forged');
  });

  it('shows a masked chip and leaves it to the policy', async () => {
    const { claims, authenticity } = await judge(await amd.report({ CHIP_ID: new Uint8Array(64) }));
    expect(authenticity).toBe('authentic');
    const status = (policy: SnpPolicy) =>
      appraiseSnp(claims!, policy, at).find(({ code }) => code === 'SNP_CHIP_MASKED')?.status;
    expect(status(neutralSnpPolicy)).toBe('refused');
    expect(status({ ...neutralSnpPolicy, allowMaskedChip: true })).toBe('met');
  });
});

describe('revocation', () => {
  const state = async (crls: readonly Uint8Array[], time = at) =>
    (await judge(await amd.report(), { crls, at: time })).claims?.revocation;

  it('knows good, revoked, stale and unknown', async () => {
    expect((await state([await amd.crl()]))?.state).toBe('good');
    expect((await state([await amd.crl({ revokedSerials: ['010001'] })]))?.state).toBe('revoked');
    expect((await state([await amd.crl({ revokedSerials: ['02'] })]))?.state).toBe('good');
    expect((await state([await amd.crl({ nextUpdate: at - 1, thisUpdate: at - 9 })]))?.state).toBe('stale');
    expect((await state([await amd.crl({ nextUpdate: null })]))?.state).toBe('stale');
    expect((await state([await amd.crl({ thisUpdate: at + 60 })]))?.state).toBe('stale');
    expect((await state([]))?.state).toBe('unknown');
    expect((await state([await amd.crl()]))?.list?.number).toBe('7');
  });

  it('gives no weight to a list of another issuer or with a broken signature', async () => {
    expect(await state([await turin.crl({ issuerName: 'ARK-Milan', revokedSerials: ['010001'] })])).toEqual({
      state: 'unknown',
      unusable: ['X509_SIGNATURE'],
    });
    expect((await state([await turin.crl()]))?.unusable).toEqual(['CRL_ISSUER']);
    expect((await state([Uint8Array.of(1, 2, 3)]))?.unusable).toEqual(['DER_MALFORMED']);
  });

  it('lets the policy decide what an unknown state means', async () => {
    expect(await refused({}, { revocation: 'required' })).toEqual(['SNP_REVOKED missing']);
    expect(await refused({}, { revocation: 'required' }, { crls: [await amd.crl()] })).toEqual([]);
    const revoked = { crls: [await amd.crl({ revokedSerials: ['010001'] })] };
    expect(await refused({}, {}, revoked)).toEqual(['SNP_REVOKED refused']);
  });
});

describe('policy', () => {
  const floor = (part: object, since = 0) => ({
    tcbFloors: [
      { product: 'Milan' as const, floor: part, advisory: 'AMD-SB-TEST', since, appliesTo: ['reported' as const] },
    ],
  });
  const digest = (byte: number) => new Uint8Array(48).fill(byte);

  it.each<[string, SnpReportValues, Partial<SnpPolicy>]>([
    ['SNP_POLICY_DEBUG_SET', { POLICY: 0xb0000n }, {}],
    ['SNP_POLICY_MIGRATION_SET', { POLICY: 0x70000n }, {}],
    ['SNP_GUEST_POLICY', {}, { guestPolicySet: ['singleSocket'] }],
    ['SNP_GUEST_POLICY', {}, { guestPolicyClear: ['smtAllowed'] }],
    ['SNP_POLICY_ABI', {}, { abiMinimum: { major: 1, minor: 55 } }],
    ['SNP_VMPL', { VMPL: 2 }, { vmpls: [0, 1] }],
    ['SNP_GUEST_SVN', { GUEST_SVN: 3 }, { guestSvnMinimum: 4 }],
    ['SNP_MEASUREMENT', { MEASUREMENT: digest(1) }, { measurements: [toHex(digest(2))] }],
    ['SNP_MEASUREMENT', { MEASUREMENT: digest(1) }, { measurements: [] }],
    ['SNP_ID_KEY', { ID_KEY_DIGEST: digest(0) }, { idKeyDigests: [toHex(digest(0))] }],
    ['SNP_AUTHOR_KEY', { AUTHOR_KEY_DIGEST: digest(5) }, { authorKeyDigests: [toHex(digest(5))] }],
    ['SNP_HOST_DATA', {}, { hostData: '11'.repeat(32) }],
    ['SNP_PLATFORM_INFO', {}, { platformInfoSet: ['aliasCheckComplete'] }],
    ['SNP_PLATFORM_INFO', { PLATFORM_INFO: 1 }, { platformInfoClear: ['smtEnabled'] }],
    ['SNP_PLATFORM_UNKNOWN_BITS', { PLATFORM_INFO: 0x40 }, { unknownPlatformBits: 'refuse' }],
    ['SNP_TCB_ORDER', { COMMITTED_TCB: tcbBytes('Milan', { bootLoader: 4, tee: 0, snp: 23, microcode: 219 }) }, {}],
    ['SNP_TCB_BELOW_FLOOR', {}, floor({ snp: 25 })],
    ['SNP_TCB_BELOW_FLOOR', {}, floor({ bootLoader: 5, snp: 1 })],
    ['SNP_CHIP_NOT_ALLOWED', {}, { chipsAllowed: ['00'.repeat(64)] }],
    [
      'SNP_MITIGATIONS',
      { VERSION: 5, CURRENT_MIT_VECTOR: 3n, LAUNCH_MIT_VECTOR: 1n },
      { mitigations: '0000000000000002' },
    ],
  ])('refuses %s and nothing else', async (code, values, policy) => {
    expect(await refused(values, policy)).toEqual([`${code} refused`]);
  });

  it('accepts what is demanded when it is there', async () => {
    const values = {
      VERSION: 5,
      VMPL: 1,
      GUEST_SVN: 4,
      MEASUREMENT: digest(1),
      ID_KEY_DIGEST: digest(2),
      AUTHOR_KEY_DIGEST: digest(3),
      FLAGS: 1,
      PLATFORM_INFO: 0x20,
      CURRENT_MIT_VECTOR: 3n,
      LAUNCH_MIT_VECTOR: 2n,
    };
    const policy: Partial<SnpPolicy> = {
      vmpls: [1],
      guestSvnMinimum: 4,
      measurements: [toHex(digest(1))],
      idKeyDigests: [toHex(digest(2))],
      authorKeyDigests: [toHex(digest(3))],
      platformInfoSet: ['aliasCheckComplete'],
      mitigations: '0000000000000002',
      chipsAllowed: [toHex(amd.vendor.hwid)],
      ...floor({ snp: 24, bootLoader: 4 }),
    };
    expect(await refused(values, policy)).toEqual([]);
  });

  it('denies a chip by its id, also when the report hides it', async () => {
    const chipsDenied = [toHex(amd.vendor.hwid)];
    expect(await refused({}, { chipsDenied })).toEqual(['SNP_CHIP_DENIED refused']);
    expect(await refused({ CHIP_ID: new Uint8Array(64) }, { chipsDenied, allowMaskedChip: true })).toEqual([
      'SNP_CHIP_DENIED refused',
    ]);
  });

  it('applies a floor from its date on', async () => {
    expect(await refused({}, floor({ snp: 25 }, at + 1))).toEqual([]);
    expect(await refused({}, floor({ snp: 25 }, at))).toEqual(['SNP_TCB_BELOW_FLOOR refused']);
  });
});
