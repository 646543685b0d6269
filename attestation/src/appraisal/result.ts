/**
 * Attestation results for others: EAT Attestation Results (draft-ietf-rats-ear) as JSON, and the same value as a
 * COSE_Sign1 by the verifier's key. Each submodule carries its AR4SI vector and every check, so that a reviewer can run
 * the appraisal again and compare.
 */
import { decodeCanonical } from '../base/cbor.js';
import { signSign1, readSign1, verifySign1 } from '../base/cose.js';
import { tierOf } from '../check/checks.js';
import type { Check, Tier, TrustClaim } from '../check/checks.js';
import { encodeDocument, jsonOf } from '../check/document.js';
import type { AttestationResult } from './appraise.js';
import type { Submodule } from './submodules.js';

/** AR4SI §2.3.2: 2 affirming, 32 warning, 96 contraindicated, 0 no claim. */
const tierValues: Readonly<Record<Tier, number>> = { affirming: 2, warning: 32, contraindicated: 96, none: 0 };

/** Only claims that some check speaks about. */
export type TrustVector = Readonly<Partial<Record<TrustClaim, number>>>;

export function trustVector(checks: readonly Check[]): TrustVector {
  const claims = [...new Set(checks.map(({ claim }) => claim))];
  return Object.fromEntries(
    claims.map((claim) => [claim, tierValues[tierOf(checks.filter((check) => check.claim === claim))]]),
  );
}

const profile = 'tag:github.com,2023:veraison/ear';
const contentType = 'application/veritrain-ear+cbor';

/** EAR with the project's own claims under `veritrain.`; integers and text only. */
export function earOf(result: AttestationResult): Readonly<Record<string, unknown>> {
  return {
    eat_profile: profile,
    iat: result.at,
    exp: result.notAfter,
    ...(result.nonce !== undefined && { eat_nonce: result.nonce }),
    'ear.verifier-id': { developer: 'veritrain', build: 'attestation-v1' },
    'veritrain.authenticity': result.authenticity,
    'veritrain.status': result.tier,
    'veritrain.policy-digest': result.policyDigest,
    'veritrain.evidence-digest': result.evidenceDigest,
    ...(result.instance && { 'veritrain.instance': result.instance }),
    submods: Object.fromEntries(
      result.submodules.map((submodule) => [submodule.name, earSubmodule(submodule, result)]),
    ),
  };
}

export function earJson(result: AttestationResult): string {
  return JSON.stringify(earOf(result), null, 2);
}

/** @param keyId  of the verifier's Ed25519 key */
export function signResult(
  result: AttestationResult,
  keyId: Uint8Array,
  sign: (toBeSigned: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  return signSign1({ algorithm: 'EdDSA', contentType, keyId }, encodeDocument(earOf(result)), sign);
}

/**
 * Another verifier's result: its opinion, authentic by its key; not an `AttestationResult` of ours.
 * @param publicKey  Ed25519, 32 bytes
 * @throws Rejection COSE_*, CBOR_*
 */
export async function verifySignedResult(bytes: Uint8Array, publicKey: Uint8Array): Promise<unknown> {
  const payload = await verifySign1(readSign1(bytes, 'tagged'), { algorithm: 'EdDSA', publicKey, contentType });
  return jsonOf(decodeCanonical(payload));
}

function earSubmodule(
  { tier, kind, authenticity, checks, device, serial }: Submodule,
  { policyId }: AttestationResult,
): object {
  return {
    'ear.status': tier,
    'ear.trustworthiness-vector': trustVector(checks),
    'ear.appraisal-policy-id': policyId,
    'veritrain.kind': kind,
    'veritrain.authenticity': authenticity,
    ...(device !== undefined && { 'veritrain.device': device }),
    ...(serial !== undefined && { 'veritrain.serial': serial }),
    'veritrain.checks': checks,
  };
}
