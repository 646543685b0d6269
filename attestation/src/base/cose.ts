/**
 * COSE_Sign1 (RFC 9052 §4.2), narrowed: one signer, the algorithm in the protected header, nothing that matters in the
 * unprotected one. Used for receipts, policies, results (tagged, deterministic) and read for AWS Nitro (untagged).
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { equalBytes, toHex } from './bytes.js';
import { decodeCanonical, decodeForeign, encodeCanonical, isCborArray, isCborMap, isCborTag } from './cbor.js';
import type { CborMap, CborValue } from './cbor.js';
import { edwardsHoldsSoon } from './edwards.js';
import { Rejection } from './errors.js';
import { coseBytesMax } from './limits.js';
import { verifySignature } from './signatures.js';

type CoseAlgorithm = 'EdDSA' | 'ES384';

export interface Sign1Header {
  readonly algorithm: CoseAlgorithm;
  /** Who signed, in the reader's own terms; authenticated. */
  readonly keyId?: Uint8Array;
  /** What the payload is, for example `application/veritrain-policy+cbor`; authenticated. */
  readonly contentType?: string;
  /** CWT claims (RFC 9597): who says it and about what; only in messages that are read with claims. */
  readonly claims?: { readonly issuer: string; readonly subject: string };
}

/** A message whose shape is right and whose signature nobody has looked at yet. */
export interface UncheckedSign1 extends Sign1Header {
  readonly protectedBytes: Uint8Array;
  readonly payload: Uint8Array;
  readonly signature: Uint8Array;
}

/** The key that must have signed, and the header it must have signed. */
export interface Sign1Expectation {
  readonly algorithm: CoseAlgorithm;
  /** EdDSA: the 32-byte public key; ES384: SubjectPublicKeyInfo. */
  readonly publicKey: Uint8Array;
  readonly contentType?: string;
  readonly keyId?: Uint8Array;
  readonly externalAad?: Uint8Array;
}

const algorithmIds: Readonly<Record<CoseAlgorithm, number>> = { EdDSA: -8, ES384: -35 };
const signatureBytes: Readonly<Record<CoseAlgorithm, number>> = { EdDSA: 64, ES384: 96 };
const sign1Tag = 18;
const claimsLabel = 15;
const claimsCharactersMost = 128;

/**
 * Signs a payload into tagged, deterministic CBOR.
 * @param sign  signs the Sig_structure; EdDSA: 64 bytes, ES384: r ‖ s
 * @throws Rejection COSE_SIGNATURE_LENGTH when `sign` returns another length
 */
export async function signSign1(
  header: Sign1Header,
  payload: Uint8Array,
  sign: (toBeSigned: Uint8Array) => Uint8Array | Promise<Uint8Array>,
  externalAad: Uint8Array = new Uint8Array(0),
): Promise<Uint8Array> {
  const protectedBytes = encodeCanonical(headerMap(header));
  const signature = await sign(sigStructure(protectedBytes, payload, externalAad));
  if (signature.length !== signatureBytes[header.algorithm]) {
    refuse('COSE_SIGNATURE_LENGTH', `${signatureBytes[header.algorithm]} bytes`, `${signature.length}`);
  }
  return encodeCanonical({ tag: sign1Tag, value: [protectedBytes, new Map(), payload, signature] });
}

/** A signer for `signSign1` from a 32-byte Ed25519 secret key. */
export function ed25519Signer(secretKey: Uint8Array): (toBeSigned: Uint8Array) => Uint8Array {
  return (toBeSigned) => ed25519.sign(toBeSigned, secretKey);
}

/**
 * Reads the shape without judging the signature.
 * @param form  `tagged`: ours: tag 18, deterministic; `untagged`: a bare array of another party's encoding (AWS Nitro)
 * @param labels  `with-claims`: CWT claims must stand in the header
 * @throws Rejection COSE_MALFORMED, COSE_ALGORITHM, COSE_HEADER, COSE_SIZE and the codes of cbor.ts
 */
export function readSign1(
  bytes: Uint8Array,
  form: 'tagged' | 'untagged',
  labels: 'plain' | 'with-claims' = 'plain',
): UncheckedSign1 {
  if (bytes.length > coseBytesMax) refuse('COSE_SIZE', `at most ${coseBytesMax} bytes`, `${bytes.length}`);
  const parts = sign1Parts(form === 'tagged' ? decodeCanonical(bytes) : decodeForeign(bytes), form);
  const [protectedBytes, unprotected, payload, signature] = parts;
  if (
    parts.length !== 4 ||
    !(protectedBytes instanceof Uint8Array) ||
    unprotected === undefined ||
    !isCborMap(unprotected) ||
    !(payload instanceof Uint8Array) ||
    !(signature instanceof Uint8Array)
  ) {
    return refuse('COSE_MALFORMED', '[bytes, map, bytes, bytes]', 'another shape');
  }
  if (unprotected.size !== 0) refuse('COSE_HEADER', 'an empty unprotected header', `${unprotected.size} entries`);
  const written = form === 'tagged' ? decodeCanonical(protectedBytes) : decodeForeign(protectedBytes);
  const header = readHeader(written, labels === 'with-claims' ? [1, 3, 4, claimsLabel] : [1, 3, 4]);
  if (signature.length !== signatureBytes[header.algorithm]) {
    refuse('COSE_SIGNATURE_LENGTH', `${signatureBytes[header.algorithm]} bytes`, `${signature.length}`);
  }
  return { ...header, protectedBytes, payload, signature };
}

/**
 * Checks header and signature against what the reader expects and gives the payload back.
 * @throws Rejection COSE_ALGORITHM, COSE_CONTENT_TYPE, COSE_KEY_ID, COSE_SIGNATURE
 */
export async function verifySign1(message: UncheckedSign1, expected: Sign1Expectation): Promise<Uint8Array> {
  if (message.algorithm !== expected.algorithm) refuse('COSE_ALGORITHM', expected.algorithm, message.algorithm);
  if (message.contentType !== expected.contentType) {
    refuse('COSE_CONTENT_TYPE', expected.contentType ?? 'no content type', message.contentType ?? 'none');
  }
  if (expected.keyId !== undefined && !equalBytes(message.keyId ?? new Uint8Array(0), expected.keyId)) {
    refuse('COSE_KEY_ID', toHex(expected.keyId), toHex(message.keyId ?? new Uint8Array(0)));
  }
  const signed = sigStructure(message.protectedBytes, message.payload, expected.externalAad ?? new Uint8Array(0));
  const holds =
    message.algorithm === 'EdDSA'
      ? await edwardsHoldsSoon(message.signature, signed, expected.publicKey)
      : await verifySignature('ecdsa-p384-sha384', expected.publicKey, message.signature, signed).then(
          () => true,
          onlyRejection,
        );
  if (!holds) refuse('COSE_SIGNATURE', 'a signature by the expected key', 'one that does not hold');
  return message.payload;
}

function onlyRejection(error: unknown): false {
  if (error instanceof Rejection) return false;
  throw error;
}

function sigStructure(protectedBytes: Uint8Array, payload: Uint8Array, externalAad: Uint8Array): Uint8Array {
  return encodeCanonical(['Signature1', protectedBytes, externalAad, payload]);
}

function sign1Parts(value: CborValue, form: 'tagged' | 'untagged'): readonly CborValue[] {
  if (form === 'tagged' && !(isCborTag(value) && value.tag === sign1Tag)) {
    return refuse('COSE_MALFORMED', 'tag 18', 'another item');
  }
  const array = isCborTag(value) && form === 'tagged' ? value.value : value;
  return isCborArray(array) ? array : refuse('COSE_MALFORMED', 'an array of four', 'another item');
}

function headerMap(header: Sign1Header): CborMap {
  const map = new Map<CborValue, CborValue>([[1, algorithmIds[header.algorithm]]]);
  if (header.contentType !== undefined) map.set(3, header.contentType);
  if (header.keyId !== undefined) map.set(4, header.keyId);
  if (header.claims !== undefined) {
    map.set(
      claimsLabel,
      new Map<CborValue, CborValue>([
        [1, header.claims.issuer],
        [2, header.claims.subject],
      ]),
    );
  }
  return map;
}

/** Labels 1 alg, 3 content type, 4 kid, 15 CWT claims; `crit` and every other label are refused rather than ignored. */
function readHeader(value: CborValue, labels: readonly number[]): Sign1Header {
  if (!isCborMap(value)) return refuse('COSE_MALFORMED', 'a protected header map', 'another item');
  for (const label of value.keys()) {
    if (typeof label !== 'number' || !labels.includes(label)) {
      refuse('COSE_HEADER', `labels ${labels.join(', ')}`, String(label));
    }
  }
  const found = (['EdDSA', 'ES384'] as const).find((name) => algorithmIds[name] === value.get(1));
  if (found === undefined) return refuse('COSE_ALGORITHM', 'EdDSA or ES384', String(value.get(1)));
  const contentType = value.get(3);
  const keyId = value.get(4);
  if (contentType !== undefined && typeof contentType !== 'string')
    refuse('COSE_HEADER', 'a text content type', 'another item');
  if (keyId !== undefined && !(keyId instanceof Uint8Array)) refuse('COSE_HEADER', 'a byte-string kid', 'another item');
  return {
    algorithm: found,
    ...(typeof contentType === 'string' && { contentType }),
    ...(keyId instanceof Uint8Array && { keyId }),
    ...(labels.includes(claimsLabel) && { claims: readClaims(value.get(claimsLabel)) }),
  };
}

function readClaims(value: CborValue | undefined): { readonly issuer: string; readonly subject: string } {
  const [issuer, subject] =
    value !== undefined && isCborMap(value) && value.size === 2 ? [value.get(1), value.get(2)] : [];
  const isName = (name: CborValue | undefined): name is string =>
    typeof name === 'string' && name.length > 0 && name.length <= claimsCharactersMost;
  if (isName(issuer) && isName(subject)) return { issuer, subject };
  return refuse('COSE_HEADER', 'CWT claims 1 and 2 as text', 'another item');
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'RFC 9052 §4.2; attestation/SPEC.md §3' });
}
