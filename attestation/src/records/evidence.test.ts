import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import {
  encodeSessionEvidence,
  parseSessionEvidence,
  verifySessionProof,
  withSessionProof,
  type ReportedSession,
} from './evidence.js';
import { encodeFormerSessionEvidence, parseFormerSessionEvidence } from './former-evidence.js';

const secret = new Uint8Array(32).fill(9);
const other = new Uint8Array(32).fill(10);
const reported: ReportedSession = {
  nonce: new Uint8Array(32).fill(1),
  binding: {
    receiptKey: ed25519.getPublicKey(secret),
    settlementKey: new Uint8Array(20).fill(2),
    transportKey: new Uint8Array(32).fill(3),
    provider: new Uint8Array(20).fill(4),
    chainId: 1,
    registry: new Uint8Array(20).fill(5),
  },
  cpu: { kind: 'snp', report: Uint8Array.of(6), certificates: [Uint8Array.of(7)] },
  gpus: [{ report: Uint8Array.of(8), certificates: [] }],
  claims: Uint8Array.of(9),
};
const by = (key: Uint8Array) => withSessionProof(reported, (message) => ed25519.sign(message, key));

describe('session evidence', () => {
  it('A-M1 shows that the session whose keys it names made it', async () => {
    const evidence = await by(secret);
    expect(parseSessionEvidence(encodeSessionEvidence(evidence))).toEqual(evidence);
    verifySessionProof(evidence);
    const changes: Partial<ReportedSession>[] = [
      { nonce: new Uint8Array(32).fill(2) },
      { binding: { ...reported.binding, settlementKey: new Uint8Array(20).fill(3) } },
      { binding: { ...reported.binding, receiptKey: ed25519.getPublicKey(other) } },
      { cpu: { ...reported.cpu, report: Uint8Array.of(7) } },
      { cpu: { ...reported.cpu, kind: 'tdx' } },
      { gpus: [] },
      { claims: new Uint8Array() },
    ];
    for (const change of changes)
      expect(() => verifySessionProof({ ...evidence, ...change })).toThrow(/EVIDENCE_PROOF/);
    const strangers = await by(other);
    for (const proof of [strangers.proof, new Uint8Array(64), new Uint8Array(64).fill(255)]) {
      expect(() => verifySessionProof({ ...evidence, proof })).toThrow(/EVIDENCE_PROOF/);
    }
  });

  it('A-M6 may have certificates added', async () => {
    const evidence = await by(secret);
    const certificates = [...reported.cpu.certificates, Uint8Array.of(1, 2)];
    verifySessionProof({ ...evidence, cpu: { ...reported.cpu, certificates } });
  });

  it('without a proof is read for old bundles alone', () => {
    const former = encodeFormerSessionEvidence({ ...reported, version: 1 });
    expect(parseFormerSessionEvidence(former)).toEqual({ ...reported, version: 1 });
    expect(() => parseSessionEvidence(former)).toThrow(/MESSAGE_SHAPE/);
  });
});
