/**
 * Revocation of single certificates by OCSP (RFC 6960): signature, delegation by the issuer, nonce, thisUpdate and
 * nextUpdate. SHA-1 serves only to name the certificate, as the protocol demands; it protects nothing.
 */
import { equalBytes, toHex } from '../base/bytes.js';
import { derBitString, derInside, derOid, derTag, readDer } from '../base/der.js';
import { CollateralError, Rejection } from '../base/errors.js';
import { ecdsaFromDer, verifySignature } from '../base/signatures.js';
import { parseCertificate, verifyCertificateSignature, type Certificate } from '../x509/certificate.js';
import { parseOcspResponse, type CertificateId, type OcspResponse, type SingleResponse } from './ocsp-response.js';

const extendedKeyUsage = '2.5.29.37';
const ocspSigning = '1.3.6.1.5.5.7.3.9';
const certificateHold = 6;
const certificatesMax = 4;
/** How long an answer without nextUpdate counts (NVIDIA's own tools assume the same hour). */
const openEndedSeconds = 3600;

const hashes: Readonly<Record<string, string>> = {
  '1.3.14.3.2.26': 'SHA-1',
  '2.16.840.1.101.3.4.2.1': 'SHA-256',
  '2.16.840.1.101.3.4.2.2': 'SHA-384',
};
const schemes = {
  '1.2.840.10045.4.3.2': 'ecdsa-p256-sha256',
  '1.2.840.10045.4.3.3': 'ecdsa-p384-sha384',
} as const;

/** One answer of a responder and the nonce that was asked with, if any. */
export interface OcspAnswer {
  /** OCSPResponse, DER. */
  readonly response: Uint8Array;
  readonly nonce?: Uint8Array;
}

/** An answer taken apart once, for all certificates that it may be about. */
interface ReadAnswer {
  readonly nonce?: Uint8Array;
  readonly response: OcspResponse | 'forged' | 'missing';
}

export function readAnswers(answers: readonly OcspAnswer[]): readonly ReadAnswer[] {
  return answers.map(({ response, nonce }) => ({ ...(nonce && { nonce }), response: readResponse(response) }));
}

function readResponse(response: Uint8Array): ReadAnswer['response'] {
  try {
    return parseOcspResponse(response);
  } catch (error) {
    if (error instanceof CollateralError) return 'missing';
    if (error instanceof Rejection) return 'forged';
    throw error;
  }
}

/**
 * - `good`, `revoked`, `on-hold`, `unknown`: what the responder says, authentic and current.
 * - `stale`: authentic, but not for this time.
 * - `forged`: an answer about this certificate that its issuer did not authorise, or to another question.
 * - `missing`: no answer about this certificate.
 */
export type Revocation = 'good' | 'revoked' | 'on-hold' | 'unknown' | 'stale' | 'forged' | 'missing';

export interface JudgedRevocation {
  readonly state: Revocation;
  /** Unix seconds until which an answer says so; absent where none does, or for good. */
  readonly notAfter?: number;
}

/** The gravest authentic answer of several counts, so that a `good`, older or newer, cannot hide a revocation. */
const byGravity: readonly Revocation[] = ['revoked', 'on-hold', 'unknown', 'good', 'stale', 'forged', 'missing'];

/** @param at Unix seconds */
export async function judgeRevocation(
  subject: Certificate,
  issuer: Certificate,
  answers: readonly ReadAnswer[],
  at: number,
): Promise<JudgedRevocation> {
  const verdicts = await Promise.all(answers.map((answer) => judgeAnswer(subject, issuer, answer, at)));
  const state = byGravity.find((one) => verdicts.some((verdict) => verdict.state === one)) ?? 'missing';
  const ends = verdicts.flatMap((verdict) => (verdict.state === state ? (verdict.notAfter ?? []) : []));
  return { state, ...(ends.length > 0 && { notAfter: Math.max(...ends) }) };
}

async function judgeAnswer(
  subject: Certificate,
  issuer: Certificate,
  { response, nonce }: ReadAnswer,
  at: number,
): Promise<JudgedRevocation> {
  if (response === 'forged' || response === 'missing') return { state: response };
  try {
    const single = await findSubject(response, subject, issuer);
    if (single === undefined) return { state: 'missing' };
    if (nonce !== undefined && (response.nonce === undefined || !equalBytes(nonce, response.nonce))) {
      return { state: 'forged' };
    }
    const responder = await authorizedKey(response, issuer, at);
    const scheme = schemes[response.signatureAlgorithm as keyof typeof schemes];
    if (scheme === undefined) return { state: 'forged' };
    await verifySignature(scheme, responder.spki, ecdsaFromDer(response.signature, scheme), response.signed);
    if (isRevokedFor(single, at)) return { state: 'revoked' };
    if (!isCurrent(response, single, at)) return { state: 'stale' };
    return { state: stateOf(single), notAfter: Math.min(endOf(single), responder.notAfter) };
  } catch (error) {
    if (error instanceof Rejection) return { state: 'forged' };
    throw error;
  }
}

function stateOf(single: SingleResponse): Revocation {
  if (single.status !== 'revoked') return single.status;
  return single.reason === certificateHold ? 'on-hold' : 'revoked';
}

/** A revocation is final, as on a revocation list: an answer that tells of it does not go stale. A hold can be lifted. */
function isRevokedFor(single: SingleResponse, at: number): boolean {
  return single.status === 'revoked' && single.reason !== certificateHold && (single.revokedAt ?? Infinity) <= at;
}

function isCurrent(response: OcspResponse, single: SingleResponse, at: number): boolean {
  return single.thisUpdate <= at && response.producedAt <= at && at <= endOf(single);
}

function endOf({ thisUpdate, nextUpdate }: SingleResponse): number {
  return nextUpdate ?? thisUpdate + openEndedSeconds;
}

async function findSubject(
  response: OcspResponse,
  subject: Certificate,
  issuer: Certificate,
): Promise<SingleResponse | undefined> {
  for (const single of response.responses) {
    if (single.id.serialNumber === BigInt(`0x${subject.serial}`) && (await names(single.id, issuer))) return single;
  }
  return undefined;
}

/** CertID: hash of the issuer's Name and of its key's bits (RFC 6960 §4.1.1). */
async function names(id: CertificateId, issuer: Certificate): Promise<boolean> {
  const hash = hashes[id.hashAlgorithm];
  if (hash === undefined) return false;
  const nameHash = await digest(hash, issuer.subject);
  return equalBytes(id.issuerNameHash, nameHash) && equalBytes(id.issuerKeyHash, await digest(hash, keyBits(issuer)));
}

/**
 * The issuer itself, or a certificate that the issuer signed for OCSP and that is valid at `at` (RFC 6960 §4.2.2.2).
 * @throws Rejection NVIDIA_OCSP_RESPONDER, X509_SIGNATURE and the codes of `parseCertificate`
 */
async function authorizedKey(response: OcspResponse, issuer: Certificate, at: number): Promise<Certificate> {
  if (await isResponder(response, issuer)) return issuer;
  for (const der of response.certificates.slice(0, certificatesMax)) {
    const candidate = parseCertificate(der);
    if (!(await isResponder(response, candidate))) continue;
    const usage = candidate.extensions.get(extendedKeyUsage);
    const purposes = usage === undefined ? [] : derInside(readDer(usage.value), derTag.sequence).map(derOid);
    const delegated = equalBytes(candidate.issuer, issuer.subject) && purposes.includes(ocspSigning);
    if (!delegated || at < candidate.notBefore || at > candidate.notAfter) break;
    await verifyCertificateSignature(candidate, issuer);
    return candidate;
  }
  const expected = 'the issuer or a responder that it authorised';
  throw new Rejection('NVIDIA_OCSP_RESPONDER', { expected, got: 'neither', rule: 'RFC 6960 §4.2.2.2' });
}

async function isResponder(response: OcspResponse, candidate: Certificate): Promise<boolean> {
  const { responder } = response;
  if ('name' in responder) return equalBytes(responder.name, candidate.subject);
  return toHex(responder.keyHash) === toHex(await digest('SHA-1', keyBits(candidate)));
}

function keyBits(certificate: Certificate): Uint8Array {
  return derBitString(derInside(readDer(certificate.spki), derTag.sequence)[1]);
}

async function digest(hash: string, bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await globalThis.crypto.subtle.digest(hash, bytes as Uint8Array<ArrayBuffer>));
}
