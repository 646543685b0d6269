/** Products, chips, lists and dates: what a policy's own data must not let slip through. */
import { describe, expect, it } from 'vitest';
import { fakeAmd, fakeAmdAt } from '#test/fake-amd';
import { loadSamples } from '#test/samples';
import { appraise } from '../appraisal/appraise.js';
import { noEndorsements } from '../appraisal/evidence.js';
import { neutralPolicy } from '../appraisal/policy.js';
import { toHex } from '../base/bytes.js';
import { tierOf } from '../check/checks.js';
import { parsePemCertificates } from '../x509/certificate.js';
import { appraiseSnp, neutralSnpPolicy, type SnpPolicy } from './appraise.js';
import { verifySnp, type SnpRequest } from './verify.js';

const at = fakeAmdAt;
const milan = fakeAmd('milan');
const turin = fakeAmd('turin');

async function judge(vendor: typeof milan, policy: Partial<SnpPolicy>, change: Partial<SnpRequest> = {}) {
  const report = await vendor.report(vendor === turin ? { VERSION: 5 } : {});
  const request = { report, certificates: vendor.certificates, crls: [], at, simulatedRoots: vendor.roots, ...change };
  const { claims, checks } = await verifySnp(request);
  const all = [...checks, ...appraiseSnp(claims!, { ...neutralSnpPolicy, revocation: 'not-demanded', ...policy }, at)];
  const open = all.filter(({ status }) => status !== 'met').map(({ code, status }) => `${code} ${status}`);
  return { open, tier: tierOf(all) };
}

const floorOf = (product: 'Milan' | 'Genoa' | 'Turin', since = 0) =>
  ({ product, floor: { snp: 1 }, advisory: 'AMD-SB-TEST', since, appliesTo: ['reported'] }) as const;

describe('products', () => {
  it('A-M3 a product without a floor is undecided once any floor is stated, whatever the others reach', async () => {
    const tcbFloors = [floorOf('Milan'), floorOf('Genoa', at + 1)];
    expect(await judge(milan, { tcbFloors })).toEqual({ open: [], tier: 'affirming' });
    expect(await judge(turin, { tcbFloors })).toEqual({ open: ['SNP_TCB_BELOW_FLOOR missing'], tier: 'none' });
    expect((await judge(turin, { tcbFloors: [...tcbFloors, floorOf('Turin')] })).open).toEqual([]);
    expect((await judge(turin, {})).open).toEqual([]);
  });

  it('A-M3 a product that is not on the list is refused', async () => {
    expect((await judge(milan, { products: ['Milan'] })).open).toEqual([]);
    expect((await judge(turin, { products: ['Milan', 'Genoa'] })).open).toEqual(['SNP_PRODUCT_NOT_ALLOWED refused']);
    expect((await judge(turin, { products: [] })).open).toEqual(['SNP_PRODUCT_NOT_ALLOWED refused']);
    expect((await judge(turin, { vmpls: [] })).open).toEqual(['SNP_VMPL refused']);
  });

  it.skipIf(loadSamples('amd-snp').length === 0)('A-M3 a genuine Genoa report under a floor for Milan', async () => {
    const sample = loadSamples('amd-snp').find(({ id }) => id === 'genoa-v3-vcek-azure')!;
    const anchors = sample.anchors.flatMap(parsePemCertificates).map(({ raw }) => raw);
    const { tier } = await appraise({
      evidence: { kind: 'snp', report: sample.files.get('report')! },
      endorsements: { ...noEndorsements, certificates: [sample.files.get('leaf')!, ...anchors] },
      policy: {
        ...neutralPolicy,
        snp: { ...neutralPolicy.snp, tcbFloors: [{ ...floorOf('Milan'), floor: { snp: 255 } }] },
      },
      at: sample.at,
    });
    expect(tier).toBe('none');
  });
});

describe('chips', () => {
  const short = toHex(turin.vendor.hwid);
  const long = short + '00'.repeat(56);

  it('A-M4 a Turin chip is one chip in 8 bytes and in 64, on either list', async () => {
    expect(short).toHaveLength(16);
    for (const id of [short, long]) {
      expect((await judge(turin, { chipsDenied: [id] })).open).toEqual(['SNP_CHIP_DENIED refused']);
      expect((await judge(turin, { chipsAllowed: [id] })).open).toEqual([]);
    }
    expect((await judge(turin, { chipsDenied: [`${long.slice(0, -2)}01`] })).open).toEqual([]);
  });

  it('A-M4 the first 8 bytes of a chip with 64 are no name of it', async () => {
    const id = toHex(milan.vendor.hwid);
    expect((await judge(milan, { chipsDenied: [id.slice(0, 16), id.slice(0, 16) + '00'.repeat(56)] })).open).toEqual(
      [],
    );
    expect((await judge(milan, { chipsDenied: [id] })).open).toEqual(['SNP_CHIP_DENIED refused']);
  });

  it('A-M4 a denied chip does not escape behind a VLEK, which names no chip', async () => {
    const vlek = await milan.leaf({ hwid: null, cspId: 'test provider' });
    const report = await milan.report({ FLAGS: 1 << 2, CHIP_ID: new Uint8Array(64) });
    const certificates = [vlek, milan.vendor.ask, milan.vendor.ark];
    const policy = { allowVlek: true, chipsDenied: [toHex(milan.vendor.hwid)] };
    const judged = await judge(milan, policy, { report, certificates });
    expect(judged).toEqual({ open: ['SNP_CHIP_DENIED missing'], tier: 'none' });
    expect((await judge(milan, { allowVlek: true }, { report, certificates })).open).toEqual([]);
  });
});

describe('revocation', () => {
  it.each([
    ['unknown', () => Promise.resolve([])],
    ['stale', async () => [await milan.crl({ nextUpdate: at - 1 })]],
    ['without an end', async () => [await milan.crl({ nextUpdate: null })]],
  ])('A-L3 a state that is %s is a warning under if-supplied, missing under required', async (_, crls) => {
    const change = { crls: await crls() };
    expect(await judge(milan, { revocation: 'if-supplied' }, change)).toEqual({
      open: ['SNP_REVOKED warned'],
      tier: 'warning',
    });
    expect((await judge(milan, { revocation: 'required' }, change)).tier).toBe('none');
  });

  it('A-L3 a current list is met, and a revoked intermediate refused whatever is demanded', async () => {
    const revoking = { crls: [await milan.crl({ revokedSerials: ['010001'] })] };
    for (const revocation of ['required', 'if-supplied', 'not-demanded'] as const) {
      expect((await judge(milan, { revocation }, { crls: [await milan.crl()] })).tier).toBe('affirming');
      expect((await judge(milan, { revocation }, revoking)).open).toEqual(['SNP_REVOKED refused']);
    }
  });
});

describe('the time of the endorsement', () => {
  const days = (count: number) => count * 86_400;
  const within = async (notBefore: number) => {
    const leaf = await milan.leaf({ notBefore });
    return judge(milan, {}, { certificates: [leaf, milan.vendor.ask, milan.vendor.ark] });
  };

  it('A-L4 a VCEK issued later is no reason to refuse, and a warning from a day on', async () => {
    expect(await within(at + days(1))).toEqual({ open: [], tier: 'affirming' });
    expect(await within(at + days(1) + 1)).toEqual({ open: ['SNP_ENDORSEMENT_DATE warned'], tier: 'warning' });
    expect((await within(at + days(900))).tier).toBe('warning');
  });

  it('A-L4 both dates of a VLEK are held', async () => {
    const vlek = await milan.leaf({ hwid: null, cspId: 'test provider', notBefore: at + 60 });
    const report = await milan.report({ FLAGS: 1 << 2, CHIP_ID: new Uint8Array(64) });
    const certificates = [vlek, milan.vendor.ask, milan.vendor.ark];
    const { authenticity, checks } = await verifySnp({
      report,
      certificates,
      crls: [],
      at,
      simulatedRoots: milan.roots,
    });
    expect(authenticity).toBe('undecided');
    expect(checks.map(({ code }) => code)).toContain('X509_PATH_NOT_YET');
  });
});
