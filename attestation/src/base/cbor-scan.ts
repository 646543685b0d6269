/**
 * Walks one CBOR item without building it and admits only what this project's subset has: definite lengths in shortest
 * heads, distinct keys, well-formed text, no floats, no simple values but false, true and null, no tag but 18, bounded
 * depth. After it a general decoder can do nothing unexpected with the bytes.
 */
import { fromUtf8 } from './bytes.js';
import { Rejection } from './errors.js';
import { cborDepthMax } from './limits.js';

const sign1Tag = 18;

/** @throws Rejection CBOR_MALFORMED, CBOR_NOT_CANONICAL, CBOR_DUPLICATE_KEY, CBOR_DEPTH, BYTES_UTF8 */
export function scanCbor(bytes: Uint8Array): void {
  const end = scanItem(bytes, 0, 0);
  if (end !== bytes.length) refuse('CBOR_MALFORMED', 'one item', `${bytes.length - end} trailing bytes`);
}

/** @returns the offset behind the item that begins at `offset` */
function scanItem(bytes: Uint8Array, offset: number, depth: number): number {
  if (depth > cborDepthMax) refuse('CBOR_DEPTH', `nesting of at most ${cborDepthMax}`, 'more');
  const initial = bytes[offset];
  if (initial === undefined) return refuse('CBOR_MALFORMED', 'a complete item', 'the end of the input');
  const [major, info] = [initial >> 5, initial & 31];
  if (major === 7) {
    if (info < 20 || info > 22) refuse('CBOR_MALFORMED', 'false, true or null', `simple value or float ${info}`);
    return offset + 1;
  }
  const { argument, next } = scanArgument(bytes, offset + 1, info);
  if (major <= 1) return next;
  if (major === 6) {
    if (argument !== BigInt(sign1Tag)) refuse('CBOR_MALFORMED', `tag ${sign1Tag}`, `tag ${argument}`);
    return scanItem(bytes, next, depth + 1);
  }
  const left = bytes.length - next;
  if (argument > BigInt(left)) refuse('CBOR_MALFORMED', `at most the ${left} bytes that are left`, `${argument}`);
  const length = Number(argument);
  if (major === 3) fromUtf8(bytes.subarray(next, next + length));
  if (major <= 3) return next + length;
  if (major === 5) return scanMap(bytes, next, length, depth);
  let at = next;
  for (let i = 0; i < length; i++) at = scanItem(bytes, at, depth + 1);
  return at;
}

function scanMap(bytes: Uint8Array, offset: number, size: number, depth: number): number {
  const keys = new Set<string>();
  let at = offset;
  for (let i = 0; i < size; i++) {
    const end = scanItem(bytes, at, depth + 1);
    keys.add(bytes.subarray(at, end).join());
    if (keys.size !== i + 1) refuse('CBOR_DUPLICATE_KEY', 'distinct keys', 'the same key twice');
    at = scanItem(bytes, end, depth + 1);
  }
  return at;
}

function scanArgument(bytes: Uint8Array, offset: number, info: number): { argument: bigint; next: number } {
  if (info < 24) return { argument: BigInt(info), next: offset };
  if (info > 27) refuse('CBOR_MALFORMED', 'a definite length', `additional information ${info}`);
  const size = 1 << (info - 24);
  if (offset + size > bytes.length) refuse('CBOR_MALFORMED', 'a complete item', 'the end of the input');
  let argument = 0n;
  for (let i = 0; i < size; i++) argument = (argument << 8n) | BigInt(bytes[offset + i]!);
  const smallest = size === 1 ? 24n : 1n << BigInt(4 * size);
  if (argument < smallest) refuse('CBOR_NOT_CANONICAL', 'the shortest head', `${size} bytes for ${argument}`);
  return { argument, next: offset + size };
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'RFC 8949 §4.2.1' });
}
