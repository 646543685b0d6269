/**
 * Deterministic CBOR (RFC 8949 §4.2.1) over the subset this project uses: integers of −2^63 … 2^64 − 1, byte and text strings,
 * arrays, maps, tag 18, booleans and null. cbor-x encodes and decodes; what it would let pass is refused around it: a
 * scan admits only the subset before it decodes, and only the one encoding of the value after.
 */
import { Decoder, Encoder, Tag } from 'cbor-x';
import { compareBytes, copyOf, equalBytes } from './bytes.js';
import { scanCbor } from './cbor-scan.js';
import { Rejection } from './errors.js';
import { cborBytesMax, cborDepthMax } from './limits.js';

export interface CborTag {
  readonly tag: number;
  readonly value: CborValue;
}

/** Integers beyond ±(2^53 − 1) are bigint, all others number. */
export type CborValue =
  number | bigint | string | boolean | null | Uint8Array | readonly CborValue[] | CborMap | CborTag;

export type CborMap = ReadonlyMap<CborValue, CborValue>;

const options = { useRecords: false, mapsAsObjects: false, variableMapSize: true, tagUint8Array: false } as const;
const encoder = new Encoder(options);
const decoder = new Decoder(options);

/**
 * The one encoding of a value: shortest heads, map entries ordered by their encoded keys.
 * @throws Rejection CBOR_NOT_ENCODABLE for floats, negative zero, integers out of range, CBOR_DUPLICATE_KEY,
 *   CBOR_DEPTH, CBOR_SIZE
 */
export function encodeCanonical(value: CborValue): Uint8Array {
  const bytes = encodeOnce(encodable(value, 'sorted', 0));
  checkSize(bytes);
  return bytes;
}

/**
 * Decodes one deterministic item; the input must be exactly what `encodeCanonical` gives back.
 * @throws Rejection CBOR_NOT_CANONICAL, CBOR_MALFORMED, CBOR_DUPLICATE_KEY, CBOR_DEPTH, CBOR_SIZE
 */
export function decodeCanonical(bytes: Uint8Array): CborValue {
  return decode(bytes, 'sorted');
}

/**
 * Decodes one item of another party's making: map order is free, everything else is as strict.
 * @throws Rejection CBOR_NOT_CANONICAL, CBOR_MALFORMED, CBOR_DUPLICATE_KEY, CBOR_DEPTH, CBOR_SIZE
 */
export function decodeForeign(bytes: Uint8Array): CborValue {
  return decode(bytes, 'as-written');
}

export function isCborMap(value: CborValue): value is CborMap {
  return value instanceof Map;
}

export function isCborTag(value: CborValue): value is CborTag {
  return typeof value === 'object' && value !== null && 'tag' in value;
}

export function isCborArray(value: CborValue): value is readonly CborValue[] {
  return Array.isArray(value);
}

type Order = 'sorted' | 'as-written';

function decode(bytes: Uint8Array, order: Order): CborValue {
  checkSize(bytes);
  scanCbor(bytes);
  const value = decoded(decoder.decode(copyOf(bytes)));
  if (!equalBytes(encodeOnce(encodable(value, order, 0)), bytes)) {
    refuse('CBOR_NOT_CANONICAL', 'map keys in the order of their encodings', 'another order');
  }
  return value;
}

/** cbor-x hands out views of a buffer that it uses again, as it writes on its input's object when it decodes. */
function encodeOnce(value: unknown): Uint8Array {
  return Uint8Array.from(encoder.encode(value));
}

/** From what cbor-x gives: plain byte arrays, our tags, small integers as numbers. */
function decoded(value: unknown): CborValue {
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (Array.isArray(value)) return value.map(decoded);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [decoded(key), decoded(item)]));
  if (value instanceof Tag) return { tag: value.tag, value: decoded(value.value) };
  if (typeof value !== 'bigint') return value as CborValue;
  return BigInt.asIntN(54, value) === value && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** To what cbor-x writes in shortest form: it would write integers of more than 32 bits as floats unless they are bigint. */
function encodable(value: CborValue, order: Order, depth: number): unknown {
  if (depth > cborDepthMax) refuse('CBOR_DEPTH', `nesting of at most ${cborDepthMax}`, 'more');
  if (typeof value === 'number' || typeof value === 'bigint') return integer(value);
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  if (value instanceof Uint8Array) return value.constructor === Uint8Array ? value : Uint8Array.from(value);
  if (isCborArray(value)) return value.map((item) => encodable(item, order, depth + 1));
  if (isCborMap(value)) return mapEntries(value, order, depth);
  if (isCborTag(value)) return new Tag(encodable(value.value, order, depth + 1), value.tag);
  return refuse('CBOR_NOT_ENCODABLE', 'a value of the subset', typeof value);
}

function mapEntries(map: CborMap, order: Order, depth: number): Map<unknown, unknown> {
  const entries = [...map].map(([key, item]) => {
    const written = encodable(key, order, depth + 1);
    return { key: written, item: encodable(item, order, depth + 1), bytes: encodeOnce(written) };
  });
  const sorted = [...entries].sort((a, b) => compareBytes(a.bytes, b.bytes));
  for (let i = 1; i < sorted.length; i++) {
    if (equalBytes(sorted[i - 1]!.bytes, sorted[i]!.bytes)) {
      refuse('CBOR_DUPLICATE_KEY', 'distinct keys', 'the same key twice');
    }
  }
  return new Map((order === 'sorted' ? sorted : entries).map(({ key, item }) => [key, item]));
}

function integer(value: number | bigint): number | bigint {
  if (typeof value === 'number' && (!Number.isSafeInteger(value) || Object.is(value, -0))) {
    refuse('CBOR_NOT_ENCODABLE', 'a safe integer', String(value));
  }
  const n = BigInt(value);
  if (n > 0xffffffffffffffffn || n < -0x8000000000000000n) refuse('CBOR_NOT_ENCODABLE', '−2^63 … 2^64 − 1', `${n}`);
  return n <= 0xffffffffn && n >= -0x100000000n ? Number(n) : n;
}

function checkSize(bytes: Uint8Array): void {
  if (bytes.length > cborBytesMax) refuse('CBOR_SIZE', `at most ${cborBytesMax} bytes`, `${bytes.length}`);
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'RFC 8949 §4.2.1' });
}
