/** Reads the protobuf wire format with bounds (Protocol Buffers encoding). Untrusted bytes: every length is checked. */
import { fromUtf8 } from '#attestation/base';
import { refuse } from '../errors.js';
import { fieldsMax, nameBytesMax } from '../limits.js';

/** `value` of a varint or a fixed number, exact to 2^53; `bytes` of everything that has a length. */
interface WireField {
  readonly number: number;
  readonly value: number;
  readonly bytes: Uint8Array;
}

const none = new Uint8Array(0);

/** How many fields of one file were looked at. */
export class FieldCount {
  #left = fieldsMax;

  take(count = 1): void {
    this.#left -= count;
    if (this.#left < 0) refuse('ONNX_LIMIT', `at most ${fieldsMax} protobuf fields`, 'more');
  }
}

const malformed = (expected: string, got: unknown): never => refuse('ONNX_MALFORMED', expected, got);

/** A varint as int64, from `at`; beyond 2^53 to the nearest number. */
function varint(bytes: Uint8Array, at: number): { readonly value: number; readonly next: number } {
  let low = 0;
  let high = 0;
  for (let k = 0; k < 10; k++) {
    const byte = bytes[at + k];
    if (byte === undefined) malformed('a whole varint', 'the end of the message');
    const part = byte! & 0x7f;
    if (k < 4) low += part * 2 ** (7 * k);
    else if (k === 4) {
      low += (part & 0xf) * 2 ** 28;
      high = part >> 4;
    } else high += (part * 2 ** (7 * k - 32)) % 2 ** 32;
    if (byte! < 0x80) return { value: (high | 0) * 2 ** 32 + low, next: at + k + 1 };
  }
  return malformed('a varint of at most ten bytes', 'more');
}

/** The fields of one message in their order; groups, which ONNX never has, refuse. */
export function* wireFields(bytes: Uint8Array, count: FieldCount): Generator<WireField> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    count.take();
    const key = varint(bytes, at);
    const [number, type] = [Math.floor(key.value / 8), key.value % 8];
    if (number < 1 || number > 2 ** 29) malformed('a field number from 1', number);
    at = key.next;
    if (type === 0) {
      const { value, next } = varint(bytes, at);
      at = next;
      yield { number, value, bytes: none };
    } else if (type === 2) {
      const length = varint(bytes, at);
      const end = length.next + length.value;
      if (length.value < 0 || end > bytes.length)
        malformed(`at most ${bytes.length - length.next} bytes`, length.value);
      yield { number, value: 0, bytes: bytes.subarray(length.next, end) };
      at = end;
    } else if (type === 1 || type === 5) {
      const size = type === 1 ? 8 : 4;
      if (at + size > bytes.length) malformed(`${size} bytes`, 'the end of the message');
      yield {
        number,
        value: type === 1 ? view.getFloat64(at, true) : view.getFloat32(at, true),
        bytes: bytes.subarray(at, at + size),
      };
      at += size;
    } else malformed('a varint, bytes, or a number of 4 or 8 bytes', `wire type ${type}`);
  }
}

/** All varints of a packed field. */
export function packedVarints(bytes: Uint8Array, count: FieldCount): number[] {
  const values: number[] = [];
  for (let at = 0; at < bytes.length;) {
    count.take();
    const { value, next } = varint(bytes, at);
    values.push(value);
    at = next;
  }
  return values;
}

/** @throws Rejection ONNX_MALFORMED for what is not UTF-8, ONNX_LIMIT for more than a name has */
export function nameOf(bytes: Uint8Array): string {
  if (bytes.length > nameBytesMax) refuse('ONNX_LIMIT', `names of at most ${nameBytesMax} bytes`, bytes.length);
  try {
    return fromUtf8(bytes);
  } catch {
    return malformed('names in UTF-8', 'other bytes');
  }
}
