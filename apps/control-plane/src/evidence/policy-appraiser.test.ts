/** The real appraisal, on evidence of a simulated vendor. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { beforeAll, expect, it } from 'vitest';
import { encodeDocument, neutralPolicy, productLayout, tcbOffsets, type AppraisalPolicy, type Tcb } from '#attestation';
import { encodeCanonical, toHex } from '#attestation/base';
import {
  encodeSessionEvidence,
  expectedReportData,
  withSessionProof,
  type ReportedSession,
} from '#attestation/records';
import {
  buildSnpReport,
  createSimulatedVendor,
  signSnpReport,
  simulatedMeasurement,
  snpReportSigner,
  type SimulatedVendor,
} from '#libs/simulated-vendor';
import { noEndorsements, receiptKey, receiptSecret } from '#test/made-session';
import { PolicyAppraiser } from './policy-appraiser.js';

const at = 1_800_000_000;
const appraiser = new PolicyAppraiser();
let vendor: SimulatedVendor;
let policy: AppraisalPolicy;
beforeAll(async () => {
  vendor = await createSimulatedVendor({ product: 'Milan', at });
  policy = {
    ...neutralPolicy,
    environment: 'development',
    simulatedRoots: [{ product: 'Milan', spkiSha256: vendor.arkSpkiSha256 }],
    snp: { ...neutralPolicy.snp, measurements: [toHex(simulatedMeasurement)] },
  };
});

const bound = { provider: `0x${'04'.repeat(20)}`, chainId: 31_337 };
/** What the broker handed on: nothing, and no device is in use. */
const nothing = {
  endorsements: new Uint8Array(Buffer.from(noEndorsements, 'base64')),
  devicesInUse: new Set<string>(),
};

async function session(changes: Partial<ReportedSession> = {}): Promise<Uint8Array> {
  const tcb = new Uint8Array(8);
  for (const [component, offset] of Object.entries(tcbOffsets[productLayout.Milan])) {
    tcb[offset] = vendor.tcb[component as keyof Tcb] ?? 0;
  }
  const unsigned: ReportedSession = {
    nonce: new Uint8Array(32).fill(9),
    binding: {
      receiptKey,
      settlementKey: new Uint8Array(20).fill(2),
      transportKey: new Uint8Array(32).fill(3),
      provider: new Uint8Array(20).fill(4),
      chainId: 31_337,
      registry: new Uint8Array(20).fill(5),
    },
    cpu: { kind: 'simulated-snp', report: new Uint8Array(), certificates: [vendor.vcek, vendor.ask, vendor.ark] },
    gpus: [],
    claims: new Uint8Array(),
  };
  const tcbs = { CURRENT_TCB: tcb, COMMITTED_TCB: tcb, LAUNCH_TCB: tcb, REPORTED_TCB: tcb };
  const values = { MEASUREMENT: simulatedMeasurement, CHIP_ID: vendor.hwid, REPORT_DATA: expectedReportData(unsigned) };
  const report = await signSnpReport(buildSnpReport({ ...values, ...tcbs }), snpReportSigner(vendor.vcekKey));
  const reported = { ...unsigned, cpu: { ...unsigned.cpu, report }, ...changes };
  return encodeSessionEvidence(await withSessionProof(reported, (message) => ed25519.sign(message, receiptSecret)));
}

it('accepts a session under the policy that names its root, and knows its receipt key', async () => {
  const verdict = await appraiser.appraise({
    evidence: await session(),
    policy: encodeDocument(policy),
    bound,
    at,
    ...nothing,
  });
  expect(verdict.checks.filter((check) => check.status === 'forged' || check.status === 'refused')).toEqual([]);
  expect(['affirming', 'warning']).toContain(verdict.tier);
  expect(verdict.receiptKey).toEqual(receiptKey);
});

it('refuses it under a policy without that root, and evidence for other keys', async () => {
  const neutral = await appraiser.appraise({
    evidence: await session(),
    policy: encodeDocument(neutralPolicy),
    bound,
    at,
    ...nothing,
  });
  expect(neutral.receiptKey).toBeNull();
  const other = { ...policy, snp: { ...policy.snp, measurements: ['00'.repeat(48)] } };
  const wrongMeasurement = await appraiser.appraise({
    evidence: await session(),
    policy: encodeDocument(other),
    bound,
    at,
    ...nothing,
  });
  expect(wrongMeasurement.receiptKey).toBeNull();
  const swapped = await session({ nonce: new Uint8Array(32) });
  const verdict = await appraiser.appraise({
    evidence: swapped,
    policy: encodeDocument(policy),
    bound,
    at,
    ...nothing,
  });
  expect(verdict.receiptKey).toBeNull();
  expect(verdict.checks.some((check) => check.status === 'forged' || check.status === 'refused')).toBe(true);
});

it('refuses a session that is bound to another account or chain', async () => {
  const evidence = await session();
  for (const other of [
    { ...bound, chainId: 1 },
    { ...bound, provider: `0x${'05'.repeat(20)}` },
  ]) {
    const verdict = await appraiser.appraise({
      evidence,
      policy: encodeDocument(policy),
      bound: other,
      at,
      ...nothing,
    });
    expect(verdict).toMatchObject({ tier: 'contraindicated', receiptKey: null });
    expect(verdict.checks.at(-1)).toMatchObject({ code: 'SESSION_BINDING', status: 'refused' });
  }
});

it('refuses what is no evidence or no policy, by code', async () => {
  const codeOf = async (evidence: Uint8Array, encoded: Uint8Array): Promise<string> =>
    appraiser.appraise({ evidence, policy: encoded, bound, at, ...nothing }).then(
      () => 'ok',
      (error: { code: string }) => error.code,
    );
  const good = encodeDocument(policy);
  const evidence = await session();
  expect(await codeOf(evidence.subarray(0, 100), good)).toMatch(/^CBOR_/);
  expect(await codeOf(encodeCanonical(new Map([['a', 1]])), good)).toBe('MESSAGE_SHAPE');
  expect(await codeOf(evidence, good.subarray(1))).toMatch(/^CBOR_|^DOCUMENT_/);
  expect(await codeOf(evidence, encodeDocument({ ...policy, surprise: 1 }))).toBe('DOCUMENT_SHAPE');
  expect(await codeOf(evidence, encodeDocument({ ...policy, environment: 'production' }))).toBe(
    'POLICY_SIMULATED_ROOTS',
  );
  expect(toHex(appraiser.policyDigest(good))).toMatch(/^[0-9a-f]{64}$/);
});
