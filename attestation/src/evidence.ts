/**
 * The evidence of one enclave session as it travels and as it is kept: the reports, the certificates that came with
 * them, the keys they are bound to and the nonce that makes them fresh. Nothing in it is believed before `appraise`.
 */
import { decodeCanonical, encodeCanonical } from './cbor.js';
import { gpuNonce, reportData } from './key-binding.js';
import { certificateBytesMax, pathCertificatesMax } from './limits.js';
import { bytes, bytesUpTo, checkLength, list, oneOf, record, toCbor, uint, type Shaped } from './shape.js';

export const sessionEvidenceBytesMax = 1024 * 1024;
const gpusMax = 16;

const certificates = list(bytesUpTo(certificateBytesMax), pathCertificatesMax);

const sessionEvidenceShape = {
  version: oneOf(1),
  /** The verifier's nonce, 32 bytes, single use. */
  nonce: bytes(32),
  binding: record({
    receiptKey: bytes(32),
    settlementKey: bytes(20),
    transportKey: bytes(32),
    provider: bytes(20),
    chainId: uint(),
    registry: bytes(20),
  }),
  cpu: record({
    kind: oneOf('snp', 'simulated-snp', 'tdx'),
    report: bytesUpTo(64 * 1024),
    certificates,
  }),
  gpus: list(record({ report: bytesUpTo(16 * 1024), certificates }), gpusMax),
  /** Canonical bytes of the guest's own claims (GPU mode and the like); empty when there are none. */
  claims: bytesUpTo(16 * 1024),
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

/** REPORT_DATA that the CPU report of this session must carry, 64 bytes. */
export function expectedReportData(evidence: SessionEvidence): Uint8Array {
  return reportData(
    evidence.nonce,
    evidence.binding,
    evidence.gpus.map((gpu) => gpu.report),
    evidence.claims,
  );
}

/** The nonce that every GPU report of this session must carry, 32 bytes. */
export function expectedGpuNonce(evidence: SessionEvidence): Uint8Array {
  return gpuNonce(evidence.nonce, evidence.binding);
}
