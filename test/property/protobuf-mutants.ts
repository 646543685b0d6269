/** Protobuf messages as trees, to spoil them where a byte's flip seldom does: sizes, ops, and what refers to what. */
import { concatBytes } from '#attestation/base';
import type { Draw } from './random.js';

interface Field {
  readonly number: number;
  readonly type: number;
  /** Of a varint. */
  value: bigint;
  /** Of bytes and fixed numbers. */
  bytes: Uint8Array;
  /** Of a message that `nested` names. */
  fields?: Field[];
}

/** Which fields of a message are messages themselves. */
export type Nested = { readonly [field: number]: Nested };

function varintAt(bytes: Uint8Array, at: number): readonly [bigint, number] {
  let value = 0n;
  for (let k = 0; ; k++) {
    const byte = bytes[at + k]!;
    value |= BigInt(byte & 0x7f) << BigInt(7 * k);
    if (byte < 0x80) return [value, at + k + 1];
  }
}

function fieldsOf(bytes: Uint8Array, nested: Nested): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < bytes.length;) {
    const [key, next] = varintAt(bytes, at);
    const [number, type] = [Number(key >> 3n), Number(key & 7n)];
    if (type === 0) {
      const [value, end] = varintAt(bytes, next);
      fields.push({ number, type, value, bytes: new Uint8Array(0) });
      at = end;
      continue;
    }
    const [length, start] = type === 2 ? varintAt(bytes, next) : [BigInt(type === 1 ? 8 : 4), next];
    const part = bytes.subarray(start, start + Number(length));
    const below = type === 2 ? nested[number] : undefined;
    fields.push({ number, type, value: 0n, bytes: part, ...(below && { fields: fieldsOf(part, below) }) });
    at = start + Number(length);
  }
  return fields;
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Uint8Array.of(...bytes, Number(rest));
}

function encoded(fields: readonly Field[]): Uint8Array {
  return concatBytes(
    ...fields.flatMap(({ number, type, value, bytes, fields: below }) => {
      const key = varint(BigInt(number * 8 + type));
      if (type === 0) return [key, varint(value)];
      const part = below === undefined ? bytes : encoded(below);
      return type === 2 ? [key, varint(BigInt(part.length)), part] : [key, part];
    }),
  );
}

const numbers = [0n, 1n, 2n, 3n, 7n, 64n, 1n << 16n, 1n << 31n, 1n << 40n, (1n << 63n) - 1n, -1n, -2n];

/** Every list of fields of the tree. */
const lists = (fields: Field[]): Field[][] => [
  fields,
  ...fields.flatMap(({ fields: below }) => (below ? lists(below) : [])),
];

/** One to three changes of the tree: a number, a field more, less, elsewhere, or in another's place. */
export function protobufMutant(bytes: Uint8Array, nested: Nested, draw: Draw): Uint8Array {
  const root = fieldsOf(bytes, nested);
  for (let round = 1 + draw(3); round > 0; round--) {
    const all = lists(root).filter((list) => list.length > 0);
    const list = all[draw(all.length)]!;
    const at = draw(list.length);
    const field = list[at]!;
    const other = list[draw(list.length)]!;
    const way = draw(6);
    if (way === 0) list.splice(at, 1);
    else if (way === 1) list.push({ ...other });
    else if (way === 2) [list[at], list[list.indexOf(other)]] = [other, field];
    else if (field.type === 0)
      field.value = way === 3 ? field.value + BigInt(draw(5) - 2) : numbers[draw(numbers.length)]!;
    else if (field.fields === undefined && other.fields === undefined && other.type === field.type)
      field.bytes = other.bytes;
    else list.splice(at, 0, { ...other });
  }
  return encoded(root);
}
