/**
 * Deterministic CBOR (RFC 8949 §4.2.1) over the subset this project uses: integers of 64 bits, byte and text strings,
 * arrays, maps, tags, booleans and null. No floats, no indefinite lengths, no undefined. A decoder that accepted two
 * encodings of one value would make digests and signatures ambiguous, so every other form is refused.
 */
import { compareBytes, concatBytes, fromUtf8, utf8 } from './bytes.js';
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

/**
 * The one encoding of a value: shortest heads, map entries ordered by their encoded keys.
 * @throws Rejection CBOR_NOT_ENCODABLE for floats, negative zero, integers beyond 64 bits, CBOR_DUPLICATE_KEY,
 *   CBOR_DEPTH, CBOR_SIZE
 */
export function encodeCanonical(value: CborValue): Uint8Array {
  const bytes = encodeValue(value, 0);
  checkSize(bytes);
  return bytes;
}

/**
 * Decodes one deterministic item; the input must be exactly what `encodeCanonical` gives back.
 * @throws Rejection CBOR_NOT_CANONICAL, CBOR_MALFORMED, CBOR_DUPLICATE_KEY, CBOR_DEPTH, CBOR_SIZE
 */
export function decodeCanonical(bytes: Uint8Array): CborValue {
  return decodeAll(bytes, 'canonical');
}

/**
 * Decodes one item of another party's making: map order and head lengths are free, everything else is as strict:
 * definite lengths, no duplicate keys, no trailing bytes.
 * @throws Rejection CBOR_MALFORMED, CBOR_DUPLICATE_KEY, CBOR_DEPTH, CBOR_SIZE
 */
export function decodeForeign(bytes: Uint8Array): CborValue {
  return decodeAll(bytes, 'foreign');
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

type Mode = 'canonical' | 'foreign';

interface Cursor {
  readonly bytes: Uint8Array;
  readonly mode: Mode;
  offset: number;
}

function head(major: number, value: number | bigint): Uint8Array {
  const n = BigInt(value);
  const size = n < 24n ? 0 : n <= 0xffn ? 1 : n <= 0xffffn ? 2 : n <= 0xffffffffn ? 4 : 8;
  if (size === 0) return Uint8Array.of((major << 5) | Number(n));
  const out = new Uint8Array(1 + size);
  out[0] = (major << 5) | (24 + Math.log2(size));
  for (let i = 0; i < size; i++) out[size - i] = Number((n >> BigInt(8 * i)) & 0xffn);
  return out;
}

function encodeInteger(value: number | bigint): Uint8Array {
  if (typeof value === 'number' && (!Number.isSafeInteger(value) || Object.is(value, -0))) {
    refuse('CBOR_NOT_ENCODABLE', 'a safe integer', String(value));
  }
  const n = BigInt(value);
  if (n > 0xffffffffffffffffn || n < -0x10000000000000000n)
    refuse('CBOR_NOT_ENCODABLE', 'an integer of 64 bits', `${n}`);
  return n >= 0n ? head(0, n) : head(1, -1n - n);
}

function encodeValue(value: CborValue, depth: number): Uint8Array {
  if (depth > cborDepthMax) refuse('CBOR_DEPTH', `nesting of at most ${cborDepthMax}`, 'more');
  if (typeof value === 'number' || typeof value === 'bigint') return encodeInteger(value);
  if (typeof value === 'boolean') return Uint8Array.of(value ? 0xf5 : 0xf4);
  if (value === null) return Uint8Array.of(0xf6);
  if (typeof value === 'string') {
    const text = utf8(value);
    return concatBytes(head(3, text.length), text);
  }
  if (value instanceof Uint8Array) return concatBytes(head(2, value.length), value);
  if (isCborArray(value)) {
    return concatBytes(head(4, value.length), ...value.map((item) => encodeValue(item, depth + 1)));
  }
  if (isCborMap(value)) return encodeMap(value, depth);
  if (isCborTag(value)) return concatBytes(head(6, value.tag), encodeValue(value.value, depth + 1));
  return refuse('CBOR_NOT_ENCODABLE', 'a value of the subset', typeof value);
}

function encodeMap(map: CborMap, depth: number): Uint8Array {
  const entries = [...map].map(([key, item]) => [encodeValue(key, depth + 1), encodeValue(item, depth + 1)] as const);
  entries.sort((a, b) => compareBytes(a[0], b[0]));
  for (let i = 1; i < entries.length; i++) {
    if (compareBytes(entries[i - 1]![0], entries[i]![0]) === 0)
      refuse('CBOR_DUPLICATE_KEY', 'distinct keys', 'the same key twice');
  }
  return concatBytes(head(5, entries.length), ...entries.flat());
}

function decodeAll(bytes: Uint8Array, mode: Mode): CborValue {
  checkSize(bytes);
  const cursor: Cursor = { bytes, mode, offset: 0 };
  const value = decodeValue(cursor, 0);
  if (cursor.offset !== bytes.length) {
    refuse('CBOR_MALFORMED', 'one item', `${bytes.length - cursor.offset} trailing bytes`);
  }
  return value;
}

function decodeValue(cursor: Cursor, depth: number): CborValue {
  if (depth > cborDepthMax) refuse('CBOR_DEPTH', `nesting of at most ${cborDepthMax}`, 'more');
  const initial = take(cursor, 1)[0]!;
  const major = initial >> 5;
  const info = initial & 31;
  if (major === 7) return decodeSimple(info);
  const argument = decodeArgument(cursor, info);
  switch (major) {
    case 0:
      return shorten(argument);
    case 1:
      return shorten(-1n - argument);
    case 2:
      return take(cursor, lengthOf(cursor, argument)).slice();
    case 3:
      return fromUtf8(take(cursor, lengthOf(cursor, argument)));
    case 4:
      return Array.from({ length: lengthOf(cursor, argument) }, () => decodeValue(cursor, depth + 1));
    case 5:
      return decodeMap(cursor, lengthOf(cursor, argument), depth);
    default:
      if (argument > 0xffffffffn) refuse('CBOR_MALFORMED', 'a tag below 2^32', `${argument}`);
      return { tag: Number(argument), value: decodeValue(cursor, depth + 1) };
  }
}

function decodeSimple(info: number): CborValue {
  if (info === 20) return false;
  if (info === 21) return true;
  if (info === 22) return null;
  return refuse('CBOR_MALFORMED', 'false, true or null', `simple value or float ${info}`);
}

function decodeArgument(cursor: Cursor, info: number): bigint {
  if (info < 24) return BigInt(info);
  if (info > 27) refuse('CBOR_MALFORMED', 'a definite length', `additional information ${info}`);
  const size = 1 << (info - 24);
  let value = 0n;
  for (const byte of take(cursor, size)) value = (value << 8n) | BigInt(byte);
  const smallest = size === 1 ? 24n : 1n << BigInt(4 * size);
  if (cursor.mode === 'canonical' && value < smallest)
    refuse('CBOR_NOT_CANONICAL', 'the shortest head', `${size} bytes for ${value}`);
  return value;
}

function decodeMap(cursor: Cursor, size: number, depth: number): CborMap {
  const map = new Map<CborValue, CborValue>();
  const keys = new Set<string>();
  let previous: Uint8Array | undefined;
  for (let i = 0; i < size; i++) {
    const start = cursor.offset;
    const key = decodeValue(cursor, depth + 1);
    const encoded =
      cursor.mode === 'canonical' ? cursor.bytes.subarray(start, cursor.offset) : encodeValue(key, depth + 1);
    const text = encoded.join();
    if (keys.has(text)) refuse('CBOR_DUPLICATE_KEY', 'distinct keys', 'the same key twice');
    keys.add(text);
    if (cursor.mode === 'canonical' && previous !== undefined && compareBytes(previous, encoded) > 0) {
      refuse('CBOR_NOT_CANONICAL', 'map keys in the order of their encodings', 'another order');
    }
    previous = encoded;
    map.set(key, decodeValue(cursor, depth + 1));
  }
  return map;
}

/** A count or length can never exceed the bytes that are left: one byte per element at least. */
function lengthOf(cursor: Cursor, argument: bigint): number {
  const left = cursor.bytes.length - cursor.offset;
  if (argument > BigInt(left)) refuse('CBOR_MALFORMED', `at most the ${left} bytes that are left`, `${argument}`);
  return Number(argument);
}

function take(cursor: Cursor, size: number): Uint8Array {
  if (cursor.offset + size > cursor.bytes.length) refuse('CBOR_MALFORMED', 'a complete item', 'the end of the input');
  cursor.offset += size;
  return cursor.bytes.subarray(cursor.offset - size, cursor.offset);
}

function shorten(value: bigint): number | bigint {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER) ? Number(value) : value;
}

function checkSize(bytes: Uint8Array): void {
  if (bytes.length > cborBytesMax) refuse('CBOR_SIZE', `at most ${cborBytesMax} bytes`, `${bytes.length}`);
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'RFC 8949 §4.2.1' });
}
