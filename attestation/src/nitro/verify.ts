/**
 * Authenticity of an AWS Nitro Enclaves attestation document: an untagged COSE_Sign1 (ES384) by a leaf that leads to the
 * pinned root. Source: attestation/EVIDENCE.md §7; aws/aws-nitro-enclaves-nsm-api `docs/attestation_process.md`.
 */
import { concatBytes, equalBytes, toHex } from '../base/bytes.js';
import { decodeForeign, encodeCanonical } from '../base/cbor.js';
import { readSign1, verifySign1, type UncheckedSign1 } from '../base/cose.js';
import { CollateralError, Rejection } from '../base/errors.js';
import { certificateBytesMax, pathCertificatesMax } from '../base/limits.js';
import { bytes, bytesUpTo, list, nullable, oneOf, record, text, uint, type Field, type Shaped } from '../base/shape.js';
import { authenticityOf, openChecks, type CheckRule } from '../check/checks.js';
import type { Verified } from '../check/verified.js';
import { parseCertificate, type Certificate } from '../x509/certificate.js';
import { verifyPath } from '../x509/path.js';

/** SHA-256 of the SubjectPublicKeyInfo of AWS Nitro Enclaves Root-G1. Source: attestation/EVIDENCE.md §1. */
export const nitroRootSpkiSha256 = 'f2caf5ecc6190b4a8399b78bc58a2bbcd0382375db8a1bfd78a82743874fd225';

export interface NitroRequest {
  readonly document: Uint8Array;
  /** Unix seconds. */
  readonly at: number;
  /** SHA-256 of the SubjectPublicKeyInfo of accepted roots, hexadecimal. */
  readonly pins: ReadonlySet<string>;
  /** What this session asked for; absent: not compared. */
  readonly nonce?: Uint8Array;
  readonly publicKey?: Uint8Array;
  readonly userData?: Uint8Array;
}

const pcrs: Field<ReadonlyMap<number, Uint8Array>> = (value, path) => {
  if (!(value instanceof Map) || value.size < 1 || value.size > 32) reject('NITRO_PCRS', '1 to 32 registers', path);
  const entries = [...(value as Map<unknown, unknown>)];
  return new Map(entries.map(([index, pcr]) => [uint(31)(index, path), bytes(48)(pcr, `${path}[${String(index)}]`)]));
};

const certificate = bytesUpTo(certificateBytesMax);
const payloadShape = {
  module_id: text(256),
  digest: oneOf('SHA384'),
  timestamp: uint(Number.MAX_SAFE_INTEGER, 1),
  pcrs,
  certificate,
  cabundle: list(certificate, pathCertificatesMax),
  public_key: nullable(bytesUpTo(1024)),
  user_data: nullable(bytesUpTo(512)),
  nonce: nullable(bytesUpTo(512)),
};

/** The signed map: timestamp in milliseconds, PCRs of 48 bytes by index. */
export type NitroClaims = Shaped<typeof payloadShape>;

interface VerifiedNitro extends Verified<NitroClaims> {
  /** Unix seconds: the earliest end among the path's certificates; only where authentic. */
  readonly notAfter?: number;
}

const rules = {
  NITRO_FORMAT: rule('COSE_Sign1, ES384', 'The document is one strictly encoded COSE_Sign1 with all its fields.'),
  NITRO_CHAIN: rule('leaf to the pinned root', 'The leaf certificate leads to the pinned root in the given order.'),
  NITRO_TIMESTAMP: rule('within the leaf’s dates', 'The document was made while its leaf certificate lived.'),
  NITRO_SIGNATURE: rule('a signature by the leaf', 'The leaf certificate’s key signed the document.'),
} satisfies Record<string, CheckRule>;
const sessionRules = {
  NITRO_SESSION: rule('the session’s values', 'Nonce, public key and user data are those of this session.'),
} satisfies Record<string, CheckRule>;

/** Throws nothing but bugs. */
export async function verifyNitro(request: NitroRequest): Promise<VerifiedNitro> {
  const book = openChecks(rules);
  const session = openChecks(sessionRules);
  let message: UncheckedSign1 | undefined;
  let claims: NitroClaims | undefined;
  let path: readonly Certificate[] = [];
  await book.attempt('NITRO_FORMAT', () => {
    message = readDocument(request.document);
    claims = record(payloadShape)(decodeForeign(definite(message.payload)), 'document');
    return `module ${claims.module_id}`;
  });
  if (message !== undefined && claims !== undefined) {
    const [signed, payload] = [message, claims];
    await book.attempt('NITRO_CHAIN', async () => {
      path = await readPath(payload, request);
      return path.map(({ subjectText }) => subjectText).join(' < ');
    });
    const [signer] = path;
    if (signer !== undefined) {
      await book.attempt('NITRO_TIMESTAMP', () => checkTimestamp(payload, signer));
      await book.attempt('NITRO_SIGNATURE', async () => {
        await checkSignature(signed, signer);
        return toHex(signed.signature);
      });
    }
    await session.attempt('NITRO_SESSION', () => checkSession(payload, request));
  }
  const authenticity = authenticityOf(book.checks());
  // A document of another session is as authentic as before.
  const sessionChecks = session
    .checks()
    .map((check) => (check.status === 'forged' ? { ...check, status: 'refused' as const } : check));
  return {
    kind: 'nitro',
    authenticity,
    checks: [...book.checks(), ...sessionChecks],
    ...(authenticity === 'authentic' && {
      claims: claims!,
      notAfter: Math.min(...path.map((certificate) => certificate.notAfter)),
    }),
  };
}

/** The outer array has one encoding, so that no byte of the document can vary unnoticed. */
function readDocument(document: Uint8Array): UncheckedSign1 {
  const message = readSign1(document, 'untagged');
  if (message.algorithm !== 'ES384') reject('NITRO_ALGORITHM', 'ES384', message.algorithm);
  const one = encodeCanonical([message.protectedBytes, new Map(), message.payload, message.signature]);
  if (!equalBytes(one, document)) reject('NITRO_ENCODING', 'the shortest encoding', 'another one');
  return message;
}

/**
 * Newer security modules write the payload's map without its length (RFC 8949 §3.2.2). As the number of its fields is
 * fixed, the definite form follows; anything else inside is left to the strict decoder.
 */
function definite(payload: Uint8Array): Uint8Array {
  if (payload[0] !== 0xbf || payload[payload.length - 1] !== 0xff) return payload;
  return concatBytes(Uint8Array.of(0xa0 + Object.keys(payloadShape).length), payload.subarray(1, -1));
}

async function readPath(payload: NitroClaims, request: NitroRequest): Promise<readonly Certificate[]> {
  const leaf = parseCertificate(payload.certificate);
  const pool = payload.cabundle.map(parseCertificate).reverse();
  const { certificates } = await verifyPath({ leaf, pool, rootSpkiSha256: request.pins, at: request.at }).catch(
    asRejection,
  );
  const given = [leaf, ...pool];
  const root = certificates[certificates.length - 1]!;
  const ordered = certificates.length === given.length && certificates.every((link, i) => link === given[i]);
  if (!ordered || !equalBytes(root.issuer, root.subject)) {
    reject('NITRO_CHAIN_ORDER', 'a self-issued root first, nothing beside the path', `${given.length} certificates`);
  }
  return certificates;
}

/** A document carries its own path: an issuer that is not in it is no collateral to be fetched. */
function asRejection(error: unknown): never {
  throw error instanceof CollateralError ? new Rejection(error.code, error.detail) : error;
}

function checkTimestamp(payload: NitroClaims, leaf: Certificate): string {
  const seconds = Math.floor(payload.timestamp / 1000);
  if (seconds < leaf.notBefore || seconds > leaf.notAfter) {
    reject('NITRO_TIMESTAMP', `${leaf.notBefore} to ${leaf.notAfter}`, `${seconds}`);
  }
  return `${payload.timestamp} ms`;
}

async function checkSignature(message: UncheckedSign1, leaf: Certificate): Promise<void> {
  await verifySign1(message, { algorithm: 'ES384', publicKey: leaf.spki }).catch((error: unknown) => {
    if (!(error instanceof Rejection)) throw error;
    reject('NITRO_SIGNATURE', 'a signature by the leaf', error.code);
  });
}

function checkSession(payload: NitroClaims, request: NitroRequest): string {
  const compared = [
    ['NITRO_NONCE', request.nonce, payload.nonce],
    ['NITRO_PUBLIC_KEY', request.publicKey, payload.public_key],
    ['NITRO_USER_DATA', request.userData, payload.user_data],
  ] as const;
  const asked = compared.filter(([, wanted]) => wanted !== undefined);
  for (const [code, wanted, got] of asked) {
    if (got === null || !equalBytes(wanted!, got)) reject(code, toHex(wanted!), got === null ? 'nothing' : toHex(got));
  }
  return asked.length === 0 ? 'nothing was asked for' : asked.map(([, wanted]) => toHex(wanted!)).join(', ');
}

function rule(expected: string, sentence: string): CheckRule {
  const action = 'obtain a fresh document from the enclave; if it fails again do not trust it';
  return {
    claim: 'hardware',
    expected,
    rule: sentence,
    source: 'AWS Nitro attestation process; attestation/EVIDENCE.md §7',
    action,
  };
}

function reject(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'attestation/EVIDENCE.md §7' });
}
