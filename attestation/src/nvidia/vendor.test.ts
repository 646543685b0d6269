import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeNvidia, type FakeNvidia, type FakeReport } from '#test/fake-nvidia';
import { appraiseGpu, neutralGpuPolicy } from '../appraisal/gpu.js';
import type { Check } from '../check/checks.js';
import { tierOf } from '../check/checks.js';
import type { OcspAnswer } from './ocsp.js';
import { verifyNvidia, type NvidiaEvidence } from './verify.js';

// Under made-up roots every path can be walked that the real samples leave out, revocation above all.
const at = Date.parse('2026-03-01T00:00:00Z') / 1000;
const hash = (fill: number): Uint8Array => new Uint8Array(48).fill(fill);
const driver = new Map([
  [1, hash(1)],
  [2, hash(2)],
]);
const vbios = new Map([
  [3, hash(3)],
  [35, hash(35)],
]);
const base: FakeReport = {
  nonce: new Uint8Array(32).fill(8),
  measurements: new Map([...driver, ...vbios, [9, hash(9)]]),
  driver: '550.90.07',
  vbios: '009f009601000000',
};

let vendor: FakeNvidia;
let evidence: NvidiaEvidence;
let answers: OcspAnswer[];
beforeAll(async () => {
  vendor = await createFakeNvidia();
  evidence = {
    report: await vendor.report(base),
    certificateChain: vendor.device.map(({ certificate }) => certificate.raw),
    rims: [await vendor.rim('550.90.07', driver), await vendor.rim('96.00.9F.00.01', vbios)],
    ocspAnswers: [],
    at,
    pins: vendor.pins,
  };
  answers = await answersFor();
});

/** One for each certificate that is looked at: device chain without leaf and root, manifest signer. */
async function answersFor(revoked?: number, reason?: number): Promise<OcspAnswer[]> {
  const [, brom, identity, root] = vendor.device;
  const [signer, rimRoot] = vendor.rimSigner;
  const pairs = [
    [brom, identity],
    [identity, root],
    [signer, rimRoot],
  ] as const;
  const made = pairs.map(([subject, issuer], n) =>
    vendor.ocsp(subject!.certificate, issuer!, at, n === revoked ? reason : undefined),
  );
  return (await Promise.all(made)).map((response) => ({ response }));
}
const statuses = (checks: readonly Check[], ...codes: string[]): (string | undefined)[] =>
  codes.map((code) => checks.find((check) => check.code === code)?.status);
const strict = { ...neutralGpuPolicy, revocation: 'required' } as const;
const revocationCodes = ['REVOKED', 'ON_HOLD', 'UNKNOWN'].map((name) => `NVIDIA_CERTIFICATE_${name}`);
const ocspCodes = ['STALE', 'FORGED', 'MISSING'].map((name) => `NVIDIA_OCSP_${name}`);

describe('verifyNvidia under a made-up vendor', () => {
  it('is affirming when all collateral speaks for the device', async () => {
    const { authenticity, checks, claims } = await verifyNvidia({ ...evidence, ocspAnswers: answers });
    expect(authenticity).toBe('authentic');
    expect(statuses(checks, ...revocationCodes, ...ocspCodes)).toEqual(Array(6).fill('met'));
    expect(claims?.revocation.map((item) => item.state)).toEqual(Array(4).fill('good'));
    expect(tierOf(appraiseGpu(checks, claims, strict))).toBe('affirming');
    expect(claims?.measurements).toBe('match');
    expect(claims?.notAfter).toBe(at + 60);
    expect((await verifyNvidia(evidence)).claims!.notAfter).toBeGreaterThan(at + 60);
  });

  it('is refused under the real roots', async () => {
    const { pins: _, ...unpinned } = evidence;
    expect((await verifyNvidia(unpinned)).authenticity).toBe('forged');
  });

  it('keeps revoked, on hold, outdated and unanswered apart', async () => {
    const judge = async (ocspAnswers: readonly OcspAnswer[], when = at) => {
      const { checks, claims, authenticity } = await verifyNvidia({ ...evidence, ocspAnswers, at: when });
      expect(authenticity).toBe('authentic');
      const tier = (allowHold: boolean): string => tierOf(appraiseGpu(checks, claims, { ...strict, allowHold }));
      const bad = checks.filter((check) => check.status === 'refused' || check.status === 'missing');
      return [bad.map((check) => check.code), tier(false), tier(true)];
    };
    const revoked = [['NVIDIA_CERTIFICATE_REVOKED'], 'contraindicated', 'contraindicated'];
    for (const n of [0, 1, 2]) expect(await judge(await answersFor(n, 1))).toEqual(revoked);
    expect(await judge(await answersFor(0, 6))).toEqual([['NVIDIA_CERTIFICATE_ON_HOLD'], 'contraindicated', 'warning']);
    expect(await judge(answers, at + 61)).toEqual([['NVIDIA_OCSP_STALE'], 'none', 'none']);
    expect(await judge(answers.slice(1))).toEqual([['NVIDIA_OCSP_MISSING'], 'none', 'none']);
    expect(await judge([])).toEqual([[], 'none', 'none']);
  });

  it('takes no answer of another certificate for this one', async () => {
    const other = await createFakeNvidia();
    const [, brom, identity] = other.device;
    const foreign = { response: await other.ocsp(brom!.certificate, identity!, at) };
    const { checks } = await verifyNvidia({ ...evidence, ocspAnswers: [foreign, ...answers.slice(1)] });
    expect(statuses(checks, 'NVIDIA_OCSP_MISSING', 'NVIDIA_CERTIFICATE_REVOKED')).toEqual(['missing', 'not-checked']);
  });

  it('judges the firmware id: other, absent', async () => {
    const other = await verifyNvidia({ ...evidence, report: await vendor.report({ ...base, fwid: hash(1) }) });
    expect(statuses(other.checks, 'NVIDIA_FWID_MISMATCH', 'NVIDIA_REPORT_SIGNATURE')).toEqual(['forged', 'met']);
    const absent = await verifyNvidia({ ...evidence, report: await vendor.report({ ...base, fwid: null }) });
    expect(statuses(absent.checks, 'NVIDIA_FWID_MISMATCH', 'NVIDIA_FWID_ABSENT')).toEqual([undefined, 'warned']);
    expect([absent.authenticity, absent.claims?.fwidPresent]).toEqual(['authentic', false]);
  });

  it('refuses other measurements, missing ones and contradicting manifests', async () => {
    const mismatch = async (change: Partial<FakeReport>, rims = evidence.rims) => {
      const report = await vendor.report({ ...base, ...change });
      const { checks, claims } = await verifyNvidia({ ...evidence, report, rims });
      return [claims?.mismatched, ...statuses(checks, 'NVIDIA_MEASUREMENT_MISMATCH', 'NVIDIA_RIM_INDEX_CONFLICT')];
    };
    const measurements = new Map(base.measurements);
    measurements.set(2, hash(7)).delete(3);
    expect(await mismatch({ measurements })).toEqual([[2, 3], 'refused', 'met']);
    expect(await mismatch({ nvdec0: 0xaa })).toEqual([[], 'met', 'met']);
    expect(await mismatch({ nvdec0: 0x12 })).toEqual([[35], 'refused', 'met']);
    const conflicting = [evidence.rims[0]!, await vendor.rim('96.00.9F.00.01', new Map([...vbios, [1, hash(1)]]))];
    expect(await mismatch({}, conflicting)).toEqual([[], 'met', 'refused']);
  });

  it('a chain may leave its root to the caller, and nothing else', async () => {
    const certificateChain = vendor.device.slice(0, -1).map(({ certificate }) => certificate.raw);
    const anchors = vendor.device.map(({ certificate }) => certificate);
    expect((await verifyNvidia({ ...evidence, certificateChain, anchors })).authenticity).toBe('authentic');
    expect((await verifyNvidia({ ...evidence, certificateChain })).authenticity).toBe('forged');
    const shorter = certificateChain.slice(0, -1);
    expect((await verifyNvidia({ ...evidence, certificateChain: shorter, anchors })).authenticity).toBe('forged');
  });
});
