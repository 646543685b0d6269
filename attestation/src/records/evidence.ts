/**
 * The evidence of one enclave session as it travels and as it is kept: the reports, the certificates that came with
 * them, the keys they are bound to and the nonce that makes them fresh. Nothing in it is believed before `appraise`.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, utf8 } from '../base/bytes.js';
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { Rejection } from '../base/errors.js';
import { certificateBytesMax, pathCertificatesMax } from '../base/limits.js';
import { bytes, bytesUpTo, checkLength, list, oneOf, record, toCbor, uint, type Shaped } from '../base/shape.js';
import { gpuNonce, keysDigest, reportData } from './key-binding.js';

export const sessionEvidenceBytesMax = 1024 * 1024;
const gpusMax = 16;

const certificates = list(bytesUpTo(certificateBytesMax), pathCertificatesMax);

/** The keys that a session is bound to, as they travel. */
export const bindingShape = {
  receiptKey: bytes(32),
  settlementKey: bytes(20),
  transportKey: bytes(32),
  provider: bytes(20),
  chainId: uint(),
  registry: bytes(20),
};

export const reportedShape = {
  /** The verifier's nonce, 32 bytes, single use. */
  nonce: bytes(32),
  binding: record(bindingShape),
  cpu: record({
    kind: oneOf('snp', 'simulated-snp', 'tdx'),
    report: bytesUpTo(64 * 1024),
    certificates,
  }),
  gpus: list(record({ report: bytesUpTo(16 * 1024), certificates }), gpusMax),
  /** Canonical bytes of the guest's own claims (GPU mode and the like); empty when there are none. */
  claims: bytesUpTo(16 * 1024),
};

/** What a session reports of itself. */
export type ReportedSession = Shaped<typeof reportedShape>;

const sessionEvidenceShape = {
  ...reportedShape,
  version: oneOf(2),
  /** Ed25519 by the receipt key: that the session itself answered, for anybody can put another's keys into a report. */
  proof: bytes(64),
};

export type SessionEvidence = Shaped<typeof sessionEvidenceShape>;

export function encodeSessionEvidence(evidence: SessionEvidence): Uint8Array {
  return encodeCanonical(toCbor(evidence));
}

/** @throws Rejection MESSAGE_SIZE, CBOR_*, MESSAGE_SHAPE */
export function parseSessionEvidence(encoded: Uint8Array): SessionEvidence {
  checkLength('session evidence', encoded, sessionEvidenceBytesMax);
  return record(sessionEvidenceShape)(decodeCanonical(encoded), 'evidence');
}

/** @param sign Ed25519 by the key whose public half is the binding's receipt key */
export async function withSessionProof(
  reported: ReportedSession,
  sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<SessionEvidence> {
  return { ...reported, version: 2, proof: await sign(sessionProofMessage(reported)) };
}

/** That the session whose keys the evidence names made it. @throws Rejection EVIDENCE_PROOF */
export function verifySessionProof(evidence: SessionEvidence): void {
  if (isSignature(evidence.proof, sessionProofMessage(evidence), evidence.binding.receiptKey)) return;
  throw new Rejection('EVIDENCE_PROOF', {
    expected: 'a proof by the receipt key that the evidence names',
    got: 'one that does not hold',
    rule: 'attestation/SPEC.md, session evidence',
    action: 'send the evidence as the session made it',
  });
}

/**
 * What the proof is over. Certificates are left out: vendors sign them, and the host adds those that its hypervisor does
 * not hand over.
 */
function sessionProofMessage(evidence: ReportedSession): Uint8Array {
  const { nonce, binding, cpu, gpus, claims } = evidence;
  const bare = { version: 2, nonce, binding, cpu: { ...cpu, certificates: [] }, claims };
  const reports = gpus.map(({ report }) => ({ report, certificates: [] }));
  const made = sha256(encodeCanonical(toCbor({ ...bare, gpus: reports })));
  return sha256(concatBytes(utf8('veritrain/session-evidence/2'), nonce, keysDigest(binding), made));
}

function isSignature(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, message, publicKey, { zip215: false });
  } catch {
    return false;
  }
}

/** REPORT_DATA that the CPU report of this session must carry, 64 bytes. */
export function expectedReportData(evidence: ReportedSession): Uint8Array {
  return reportData(
    evidence.nonce,
    evidence.binding,
    evidence.gpus.map((gpu) => gpu.report),
    evidence.claims,
  );
}

/** The nonce that every GPU report of this session must carry, 32 bytes. */
export function expectedGpuNonce(evidence: ReportedSession): Uint8Array {
  return gpuNonce(evidence.nonce, evidence.binding);
}
