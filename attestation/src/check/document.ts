/**
 * Signed documents: JSON for people, deterministic CBOR of the same value for signatures and digests, so that a
 * signature covers one meaning and no formatting.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { toHex } from '../base/bytes.js';
import { decodeCanonical, encodeCanonical, isCborArray, isCborMap } from '../base/cbor.js';
import type { CborValue } from '../base/cbor.js';
import { readSign1, signSign1, verifySign1 } from '../base/cose.js';
import { Rejection } from '../base/errors.js';
import { policyBytesMax } from '../base/limits.js';
import type { Node } from './schema.js';

/** @throws Rejection DOCUMENT_SIZE, DOCUMENT_JSON (no JSON, or a key twice), DOCUMENT_SHAPE */
export function readDocumentText<T>(node: Node<T>, json: string): T {
  if (json.length > policyBytesMax) refuse('DOCUMENT_SIZE', `at most ${policyBytesMax} characters`, `${json.length}`);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    refuse('DOCUMENT_JSON', 'JSON', 'something else');
  }
  const written = [...json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter((match) => match[1] !== undefined).length;
  if (written !== countKeys(value)) refuse('DOCUMENT_JSON', 'each key once', 'a key twice');
  return node.read(value, '$');
}

/** @throws Rejection DOCUMENT_SIZE, CBOR_*, DOCUMENT_SHAPE */
export function readDocument<T>(node: Node<T>, encoded: Uint8Array): T {
  if (encoded.length > policyBytesMax) refuse('DOCUMENT_SIZE', `at most ${policyBytesMax} bytes`, `${encoded.length}`);
  return node.read(jsonOf(decodeCanonical(encoded)), '$');
}

/** Hexadecimal SHA-256 of the deterministic encoding: what results name. */
export function documentDigest(document: object): string {
  return toHex(sha256(encodeDocument(document)));
}

/** COSE_Sign1 (EdDSA) over the deterministic encoding. */
export async function signDocument(
  document: object,
  contentType: string,
  keyId: Uint8Array,
  sign: (toBeSigned: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  return signSign1({ algorithm: 'EdDSA', contentType, keyId }, encodeDocument(document), sign);
}

/**
 * @param publicKey  Ed25519, 32 bytes
 * @throws Rejection COSE_*, CBOR_*, DOCUMENT_SIZE, DOCUMENT_SHAPE
 */
export async function verifyDocument<T>(
  node: Node<T>,
  bytes: Uint8Array,
  contentType: string,
  publicKey: Uint8Array,
): Promise<T> {
  if (bytes.length > policyBytesMax) refuse('DOCUMENT_SIZE', `at most ${policyBytesMax} bytes`, `${bytes.length}`);
  const payload = await verifySign1(readSign1(bytes, 'tagged'), { algorithm: 'EdDSA', publicKey, contentType });
  return node.read(jsonOf(decodeCanonical(payload)), '$');
}

export function encodeDocument(document: object): Uint8Array {
  return encodeCanonical(cborOf(document));
}

/** JSON values only; absent fields are left out. */
function cborOf(value: unknown): CborValue {
  if (Array.isArray(value)) return value.map(cborOf);
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return new Map(entries.map(([key, item]) => [key, cborOf(item)]));
  }
  return value as CborValue;
}

export function jsonOf(value: CborValue): unknown {
  if (isCborArray(value)) return value.map(jsonOf);
  if (!isCborMap(value)) return value;
  const entries = [...value].map(([key, item]) => [
    typeof key === 'string' ? key : refuse('DOCUMENT_SHAPE', 'text keys', typeof key),
    jsonOf(item),
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((total, item) => total + countKeys(item), own);
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'attestation/SPEC.md §6.1' });
}
