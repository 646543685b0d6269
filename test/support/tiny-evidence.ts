/** Evidence of made-up sessions by the stored test vendor, with the proof by a session's receipt key. */
import * as ed25519 from '@noble/ed25519';
import {
  encodeSessionEvidence,
  reportData,
  withSessionProof,
  type KeyBinding,
  type ReportedSession,
  type SessionEvidence,
} from '#attestation/records';
import { simulatedMeasurement, type SnpReportValues } from '#libs/simulated-vendor';
import { fakeAmd } from './fake-amd.js';
import { chainId, provider, registry } from './tiny-job.js';

const amd = fakeAmd('milan');

export interface TestSession {
  readonly binding: KeyBinding;
  /** Of the guest, drawn at its launch. */
  readonly reportId: Uint8Array;
  /** Ed25519, made for tests. */
  readonly receiptTestSecret: Uint8Array;
}

/** @param index tells sessions apart */
export async function testSession(index = 1, change: Partial<KeyBinding> = {}): Promise<TestSession> {
  const receiptTestSecret = new Uint8Array(32).fill(index);
  const binding: KeyBinding = {
    receiptKey: await ed25519.getPublicKeyAsync(receiptTestSecret),
    settlementKey: new Uint8Array(20).fill(index),
    transportKey: new Uint8Array(32).fill(9),
    provider,
    chainId,
    registry,
    ...change,
  };
  return { binding, receiptTestSecret, reportId: new Uint8Array(32).fill(0x70 + index) };
}

export interface EvidenceOptions {
  readonly report?: SnpReportValues;
  readonly vendor?: ReturnType<typeof fakeAmd>;
  readonly certificates?: readonly Uint8Array[];
}

export async function reportedBy(
  { binding, reportId }: TestSession,
  nonce: Uint8Array,
  options: EvidenceOptions = {},
): Promise<ReportedSession> {
  const { vendor = amd, report = {} } = options;
  const bound = { MEASUREMENT: simulatedMeasurement, REPORT_ID: reportId, REPORT_DATA: reportData(nonce, binding) };
  const { certificates } = { ...vendor, ...options };
  const cpu = { kind: 'simulated-snp', report: await vendor.report({ ...bound, ...report }), certificates } as const;
  return { nonce, binding, cpu, gpus: [], claims: new Uint8Array() };
}

/** As the session itself makes it. */
export async function evidenceBy(
  session: TestSession,
  nonce: Uint8Array,
  options: EvidenceOptions = {},
): Promise<SessionEvidence> {
  return proved(session, await reportedBy(session, nonce, options));
}

export function proved(session: TestSession, reported: ReportedSession): Promise<SessionEvidence> {
  return withSessionProof(reported, (message) => ed25519.signAsync(message, session.receiptTestSecret));
}

export async function evidenceBytesBy(...parameters: Parameters<typeof evidenceBy>): Promise<Uint8Array> {
  return encodeSessionEvidence(await evidenceBy(...parameters));
}
