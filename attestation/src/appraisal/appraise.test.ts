import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { fakeAmd, fakeAmdAt } from '#test/fake-amd';
import { loadSamples } from '#test/samples';
import { fromHex, toHex } from '../base/bytes.js';
import { encodeCanonical } from '../base/cbor.js';
import { ed25519Signer } from '../base/cose.js';
import { gpuNonce, reportData, type KeyBinding } from '../records/key-binding.js';
import { parsePemCertificates } from '../x509/certificate.js';
import { appraise, weakestTier, type AppraisalRequest } from './appraise.js';
import { compareAppraisals } from './compare.js';
import { judgeSession } from './composite.js';
import type { CompositeEvidence, SessionBinding } from './evidence.js';
import { noEndorsements } from './evidence.js';
import { neutralPolicy, type AppraisalPolicy } from './policy.js';
import { earJson, earOf, signResult, trustVector, verifySignedResult } from './result.js';
import type { JudgedCpu, JudgedGpu } from './submodules.js';

const at = fakeAmdAt;
const amd = fakeAmd('milan');
const filled = (size: number, byte: number) => new Uint8Array(size).fill(byte);
const keys: KeyBinding = {
  receiptKey: filled(32, 1),
  settlementKey: filled(20, 2),
  transportKey: filled(32, 3),
  provider: filled(20, 4),
  chainId: 31337,
  registry: filled(20, 5),
};
const session: SessionBinding = { nonce: filled(32, 6), keys, claims: new Uint8Array() };
const development: AppraisalPolicy = {
  ...neutralPolicy,
  id: 'test',
  environment: 'development',
  simulatedRoots: amd.roots,
  snp: { ...neutralPolicy.snp, revocation: 'not-demanded' },
};

async function judge(
  change: Partial<AppraisalRequest> = {},
  binding: SessionBinding | undefined = session,
  data?: Uint8Array,
) {
  const signed = data ?? (binding ? reportData(binding.nonce, binding.keys, [], binding.claims) : new Uint8Array(64));
  const report = await amd.report({ REPORT_DATA: signed });
  const evidence: CompositeEvidence = {
    kind: 'composite',
    cpu: { kind: 'simulated-snp', report },
    gpus: [],
    ...(binding && { session: binding }),
  };
  const endorsements = { ...noEndorsements, certificates: amd.certificates };
  const result = await appraise({ evidence, endorsements, policy: development, nonce: session.nonce, at, ...change });
  const open = result.checks.filter(({ id, status }) => status !== 'met' && id !== 'SIMULATED_HARDWARE');
  return { result, codes: open.map(({ code, status }) => `${code} ${status}`) };
}

describe('a session', () => {
  it('is affirmed, with its keys, when everything is bound', async () => {
    const { result, codes } = await judge({ policy: { ...development, freshness: 'required' } });
    expect(codes).toEqual([]);
    expect(result.tier).toBe('warning');
    expect(result.keys).toBe(keys);
    expect(result.notAfter).toBe(at + development.resultSecondsMax);
    expect(result.submodules.map(({ name, tier }) => `${name} ${tier}`)).toEqual(['cpu warning', 'session affirming']);
  });

  it.each<[string, SessionBinding, Partial<AppraisalRequest>]>([
    ['NONCE_MISMATCH refused', { ...session, nonce: filled(32, 9) }, {}],
    ['CBOR_MALFORMED forged', { ...session, claims: filled(3, 0xff) }, {}],
    ['MESSAGE_SHAPE forged', { ...session, claims: encodeCanonical(new Map([['gpu', 1]])) }, {}],
  ])('is not: %s', async (code, binding, change) => {
    const { codes, result } = await judge(change, binding);
    expect(codes).toEqual([code]);
    expect(result.tier).toBe('contraindicated');
    expect(result.keys).toBeUndefined();
    expect(result.notAfter).toBe(at);
  });

  it('compares REPORT_DATA to the last byte and with every key', async () => {
    const exact = reportData(session.nonce, keys);
    for (const byte of [0, 31, 32, 63]) {
      const off = exact.slice();
      off[byte]! ^= 1;
      expect((await judge({}, session, off)).codes).toEqual(['REPORT_DATA_MISMATCH refused']);
    }
    for (const name of ['receiptKey', 'settlementKey', 'transportKey', 'provider', 'registry'] as const) {
      const other = { ...session, keys: { ...keys, [name]: filled(keys[name].length, 9) } };
      expect((await judge({}, other, exact)).codes).toEqual(['REPORT_DATA_MISMATCH refused']);
    }
    expect((await judge({}, { ...session, keys: { ...keys, chainId: 1 } }, exact)).codes).toEqual([
      'REPORT_DATA_MISMATCH refused',
    ]);
  });

  it('is unknown, not affirmed, when freshness is demanded and nothing shows it', async () => {
    const policy: AppraisalPolicy = { ...development, freshness: 'required' };
    const report = await amd.report();
    const evidence = { kind: 'simulated-snp', report } as const;
    const endorsements = { ...noEndorsements, certificates: amd.certificates };
    const result = await appraise({ evidence, endorsements, policy, at });
    expect(result.tier).toBe('none');
    const good = await appraise({ evidence, endorsements, policy, at, expectedReportData: new Uint8Array(64) });
    expect(good.tier).toBe('warning');
    const bad = await appraise({ evidence, endorsements, policy, at, expectedReportData: new Uint8Array(32) });
    expect(bad.tier).toBe('contraindicated');
  });

  it('is refused when its kind of hardware is not accepted', async () => {
    expect((await judge({ policy: { ...development, cpuKinds: ['simulated-snp'] } })).codes).toEqual([]);
    const refusal = ['EVIDENCE_KIND refused'];
    expect((await judge({ policy: { ...development, cpuKinds: ['snp', 'tdx'] } })).codes).toEqual(refusal);
    expect((await judge({ policy: { ...development, cpuKinds: [] } })).codes).toEqual(refusal);
  });

  it('is refused outside the dates of the policy', async () => {
    expect((await judge({ policy: { ...development, notBefore: at + 1 } })).codes).toEqual([
      'POLICY_NOT_IN_FORCE refused',
    ]);
    expect((await judge({ policy: { ...development, notAfter: at - 1 } })).codes).toEqual([
      'POLICY_NOT_IN_FORCE refused',
    ]);
  });

  it('is never affirmed on simulated hardware by a policy that does not name its root', async () => {
    expect((await judge({ policy: neutralPolicy })).codes).toContain('X509_PATH_ROOT forged');
    await expect(judge({ policy: { ...development, environment: 'production' } })).rejects.toThrow(
      'POLICY_SIMULATED_ROOTS',
    );
    expect((await judge()).result.checks.map(({ code }) => code)).toContain('SIMULATED_HARDWARE');
    const report = await amd.report();
    const named = await appraise({
      evidence: { kind: 'snp', report },
      endorsements: { ...noEndorsements, certificates: amd.certificates },
      policy: development,
      at,
    });
    expect(named.authenticity).toBe('forged');
  });

  it('takes reference values in force into the lists', async () => {
    const values = {
      version: 1,
      id: 'r',
      notBefore: at,
      snpMeasurements: [{ digest: '00'.repeat(48), label: 'none' }],
      snpIdKeyDigests: [],
      quoteMeasurements: [],
    } as const;
    expect((await judge({ referenceValues: values })).codes).toEqual(['SNP_MEASUREMENT refused']);
    const report = await amd.report({ MEASUREMENT: filled(48, 7) });
    const evidence = { kind: 'simulated-snp', report } as const;
    const endorsements = { ...noEndorsements, certificates: amd.certificates };
    const listed = { ...values, snpMeasurements: [{ digest: '07'.repeat(48), label: 'image 7' }] };
    expect((await appraise({ evidence, endorsements, policy: development, referenceValues: listed, at })).tier).toBe(
      'warning',
    );
    const later = { ...listed, notBefore: at + 1 };
    expect((await appraise({ evidence, endorsements, policy: development, referenceValues: later, at })).tier).toBe(
      'contraindicated',
    );
  });
});

describe('binding of GPUs', () => {
  const gpu = (nonce: Uint8Array, device: string): JudgedGpu => ({
    name: 'gpu-0',
    kind: 'nvidia',
    authenticity: 'authentic',
    tier: 'affirming',
    checks: [],
    device,
    claims: { nonce: toHex(nonce), deviceId: device } as NonNullable<JudgedGpu['claims']>,
  });
  const reports = [filled(5, 1), filled(5, 2)];
  const evidenceOf = (count: number, bound: SessionBinding | undefined): CompositeEvidence => ({
    kind: 'composite',
    cpu: { kind: 'snp', report: new Uint8Array() },
    gpus: reports.slice(0, count).map((report) => ({ kind: 'nvidia', report, certificateChain: [] })),
    ...(bound && { session: bound }),
  });
  const cpu = (data: Uint8Array): JudgedCpu => ({
    name: 'cpu',
    kind: 'snp',
    authenticity: 'authentic',
    tier: 'affirming',
    checks: [],
    reportData: data,
  });
  const nonce = gpuNonce(session.nonce, keys);
  const codesOf = async (
    evidence: CompositeEvidence,
    judgedCpu: JudgedCpu | undefined,
    gpus: readonly JudgedGpu[],
    expected: Partial<Parameters<typeof judgeSession>[3]> = {},
  ) => {
    const { checks } = await judgeSession(evidence, judgedCpu, gpus, { policy: neutralPolicy, at, ...expected });
    return checks.filter(({ status }) => status !== 'met').map(({ code, status }) => `${code} ${status}`);
  };
  const bound = cpu(reportData(session.nonce, keys, reports));

  it('holds when nonces are derived and all reports are covered', async () => {
    expect(await codesOf(evidenceOf(2, session), bound, [gpu(nonce, 'a'), gpu(nonce, 'b')])).toEqual([]);
  });

  it.each([
    ['a GPU that answers another nonce', 2, [gpu(nonce, 'a'), gpu(filled(32, 8), 'b')], 'COMPOSITE_UNBOUND refused'],
    ['the same GPU twice', 2, [gpu(nonce, 'a'), gpu(nonce, 'a')], 'COMPOSITE_GPU_DUPLICATE refused'],
    ['a report dropped from the list', 1, [gpu(nonce, 'a')], 'REPORT_DATA_MISMATCH refused'],
  ])('does not hold for %s', async (_, count, gpus, code) => {
    expect(await codesOf(evidenceOf(count, session), bound, gpus)).toEqual([code]);
  });

  it('counts GPUs against the policy and the guest’s own statement', async () => {
    const policy = { ...neutralPolicy, gpu: { ...neutralPolicy.gpu, count: 8 } };
    expect(await codesOf(evidenceOf(2, session), bound, [gpu(nonce, 'a'), gpu(nonce, 'b')], { policy })).toEqual([
      'COMPOSITE_GPU_COUNT refused',
    ]);
    const mode = { ccFeature: 1, devToolsMode: 0, environment: 2, multiGpuMode: 0, gpuCount: 4, driverVersion: '580' };
    const claims = encodeCanonical(new Map([['gpu', new Map(Object.entries(mode))]]));
    const stating = { ...session, claims };
    const data = cpu(reportData(session.nonce, keys, reports, claims));
    expect(await codesOf(evidenceOf(2, stating), data, [gpu(nonce, 'a'), gpu(nonce, 'b')])).toEqual([
      'COMPOSITE_GPU_COUNT refused',
    ]);
  });

  it('refuses a GPU of another live session', async () => {
    const devicesInUse = new Set(['b']);
    expect(await codesOf(evidenceOf(2, session), bound, [gpu(nonce, 'a'), gpu(nonce, 'b')], { devicesInUse })).toEqual([
      'COMPOSITE_DEVICE_IN_USE refused',
    ]);
  });

  it('without a session is refused, or at most warned about', async () => {
    const two = [gpu(nonce, 'a'), gpu(nonce, 'b')];
    expect(await codesOf(evidenceOf(2, undefined), cpu(filled(64, 1)), two)).toEqual(['COMPOSITE_UNBOUND refused']);
    const containing = cpu(Uint8Array.of(...filled(32, 1), ...nonce));
    expect(await codesOf(evidenceOf(2, undefined), containing, two)).toEqual(['COMPOSITE_UNBOUND warned']);
    expect(await codesOf(evidenceOf(2, undefined), undefined, two)).toEqual(['COMPOSITE_UNBOUND not-checked']);
  });

  it('combines by the weaker', () => {
    expect(weakestTier(['affirming', 'warning'])).toBe('warning');
    expect(weakestTier(['warning', 'none'])).toBe('none');
    expect(weakestTier(['none', 'contraindicated', 'affirming'])).toBe('contraindicated');
    expect(weakestTier([])).toBe('none');
  });
});

describe('the result', () => {
  it('is an EAR with a vector per submodule, the same in JSON and COSE', async () => {
    const { result } = await judge();
    const secret = filled(32, 5);
    const signed = await signResult(result, filled(2, 1), ed25519Signer(secret));
    const opened = await verifySignedResult(signed, ed25519.getPublicKey(secret));
    expect(opened).toEqual(JSON.parse(earJson(result)));
    const submods = earOf(result)['submods'] as Record<string, Record<string, unknown>>;
    expect(submods['cpu']!['ear.status']).toBe('warning');
    expect(submods['cpu']!['ear.trustworthiness-vector']).toEqual({
      'instance-identity': 2,
      hardware: 32,
      configuration: 2,
    });
    await expect(verifySignedResult(signed, ed25519.getPublicKey(filled(32, 6)))).rejects.toThrow('COSE_SIGNATURE');
  });

  it('values a claim by the worst check about it', () => {
    const check = {
      id: 'SNP_CHAIN',
      code: 'X',
      got: '',
      expected: '',
      rule: '',
      means: '',
      source: '',
      action: '',
    } as const;
    const vector = trustVector([
      { ...check, claim: 'hardware', status: 'met' },
      { ...check, claim: 'hardware', status: 'refused' },
      { ...check, claim: 'executables', status: 'missing' },
      { ...check, claim: 'configuration', status: 'warned' },
    ]);
    expect(vector).toEqual({ hardware: 96, executables: 0, configuration: 32 });
  });

  it('does not depend on anything but its arguments', async () => {
    const report = await amd.report();
    const request = {
      evidence: { kind: 'simulated-snp', report },
      endorsements: { ...noEndorsements, certificates: amd.certificates },
      policy: development,
      at,
    } as const;
    expect(earJson(await appraise(request))).toBe(earJson(await appraise(request)));
  });
});

describe('the same evidence at two times', () => {
  it('names what expired, was revoked, or fell below a newer floor', async () => {
    const floor = {
      product: 'Milan',
      floor: { snp: 25 },
      advisory: 'AMD-SB-TEST',
      since: at + 100,
      appliesTo: ['reported'],
    } as const;
    const policy = { ...development, snp: { ...development.snp, tcbFloors: [floor] } };
    const crl = await amd.crl({ thisUpdate: at, nextUpdate: at + 50 });
    const revoking = await amd.crl({ thisUpdate: at + 60, revokedSerials: ['010001'] });
    const certificates = amd.certificates;
    const before = (await judge({ policy, endorsements: { ...noEndorsements, certificates, crls: [crl] } })).result;
    const after = (
      await judge({ policy, at: at + 200, endorsements: { ...noEndorsements, certificates, crls: [crl, revoking] } })
    ).result;
    const { differences, before: old, after: now } = compareAppraisals(before, after);
    expect([old.tier, now.tier]).toEqual(['warning', 'contraindicated']);
    expect(differences.map(({ cause }) => cause).sort()).toEqual(['advisory', 'revoked']);
    const expired = (await judge({ at: at + 30 * 365 * 86_400 })).result;
    expect(compareAppraisals(before, expired).differences.map(({ cause }) => cause)).toContain('expired');
    expect(compareAppraisals(before, before).differences).toEqual([]);
  });
});

const gpuSamples = loadSamples('nvidia-gpu').filter(({ id }) => /^h100-590\.12-ppcie-[01]$/.test(id));
describe.skipIf(gpuSamples.length < 2)('real GPUs', () => {
  it('have their manifests read once for all of them', async () => {
    let read = 0;
    const rims = new Proxy([filled(1, 0)], {
      get(list, name) {
        if (name === '0') read += 1;
        return Reflect.get(list, name) as unknown;
      },
    });
    const gpus = gpuSamples.map(({ files }) => ({
      kind: 'nvidia' as const,
      report: files.get('report')!,
      certificateChain: new TextDecoder().decode(files.get('chain')),
    }));
    const report = await amd.report();
    const result = await appraise({
      evidence: { kind: 'composite', cpu: { kind: 'simulated-snp', report }, gpus },
      endorsements: { ...noEndorsements, certificates: amd.certificates, rims },
      policy: development,
      at: gpuSamples[0]!.at,
    });
    expect(result.devices).toHaveLength(2);
    expect(read).toBe(1);
  });
});

const composite = loadSamples('composite');
describe.skipIf(composite.length === 0)('the real composite', () => {
  it('is authentic in both halves and unbound', async () => {
    const { runSample } = await import('../samples/index.js');
    const report = await runSample(composite[0]!);
    expect(report.authentic).toBe(true);
    expect(report.checks.filter(({ status }) => status === 'refused').map(({ code }) => code)).toEqual([
      'COMPOSITE_UNBOUND',
    ]);
  });

  it('a real SNP report under a floor: authentic, refused', async () => {
    const sample = loadSamples('amd-snp').find(({ id }) => id === 'milan-v2-vcek-smt')!;
    const floor = {
      product: 'Milan',
      floor: { snp: 0x18 },
      advisory: 'AMD-SB-3019',
      since: 0,
      appliesTo: ['reported'],
    } as const;
    const certificates = [
      sample.files.get('leaf')!,
      ...sample.anchors.flatMap(parsePemCertificates).map(({ raw }) => raw),
    ];
    const result = await appraise({
      evidence: { kind: 'snp', report: sample.files.get('report')! },
      endorsements: { ...noEndorsements, certificates },
      policy: { ...neutralPolicy, snp: { ...neutralPolicy.snp, tcbFloors: [floor] } },
      at: sample.at,
    });
    expect(result.authenticity).toBe('authentic');
    expect(result.checks.filter(({ status }) => status !== 'met').map(({ code }) => code)).toEqual([
      'SNP_TCB_BELOW_FLOOR',
      'SNP_REVOKED',
    ]);
    expect(fromHex(result.policyDigest)).toHaveLength(32);
  });
});
