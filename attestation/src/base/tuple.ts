/** ABI encoding of one tuple of static words and lists of static words, and its JSON. Terms of every layout are one. */
import { fromHex, concatBytes, equalBytes, isZero, to0x } from './bytes.js';
import { word } from './digest.js';
import { Rejection } from './errors.js';

type Scalar = { readonly sort: 'bytes' | 'number' | 'amount'; readonly size: number };
type Kind = Scalar | { readonly sort: 'list'; readonly item: Scalar; readonly max: number };

export const address: Scalar = { sort: 'bytes', size: 20 };
export const bytes32: Scalar = { sort: 'bytes', size: 32 };
export const bytes4: Scalar = { sort: 'bytes', size: 4 };
export const uint128: Scalar = { sort: 'amount', size: 16 };
export const uint = (bits: number): Scalar => ({ sort: 'number', size: bits / 8 });
export const listOf = (item: Scalar, max: number): Kind => ({ sort: 'list', item, max });

/** Members in ABI order, then the numbers of 32 bits of its last member, `windows`. */
export interface Layout {
  readonly fields: readonly (readonly [name: string, kind: Kind])[];
  readonly windows: readonly string[];
}

type Values = Readonly<Record<string, unknown>>;

const uint32 = uint(32);

/**
 * abi.encode: offset, head, then each list with its length before it.
 * @throws Rejection TERMS_FIELD when a member has the wrong length or does not fit its type
 */
export function encodeTuple({ fields, windows }: Layout, values: Values): Uint8Array {
  const tails: Uint8Array[] = [];
  let tailAt = 32 * (fields.length + windows.length);
  const head = fields.map(([name, kind]) => {
    if (kind.sort !== 'list') return encodeScalar(name, kind, values[name]);
    const tail = encodeList(name, kind, values[name]);
    const offset = word(tailAt);
    tailAt += tail.length;
    tails.push(tail);
    return offset;
  });
  const lengths = (values['windows'] ?? {}) as Values;
  const last = windows.map((name) => encodeScalar(`windows.${name}`, uint32, lengths[name]));
  return concatBytes(word(32), ...head, ...last, ...tails);
}

/**
 * The inverse of encodeTuple; only the one encoding that encodeTuple writes is read.
 * @throws Rejection TERMS_ENCODING, TERMS_FIELD
 */
export function decodeTuple(layout: Layout, encoded: Uint8Array): Values {
  const { fields, windows } = layout;
  const { min, max } = encodedBytes(layout);
  if (encoded.length < min || encoded.length > max || encoded.length % 32 !== 0) {
    throw malformedEncoding(`${min} to ${max} bytes`, `${encoded.length} bytes`);
  }
  const at = (index: number): Uint8Array => encoded.subarray(32 * (index + 1), 32 * (index + 2));
  const out: Record<string, unknown> = {};
  let tail = fields.length + windows.length;
  fields.forEach(([name, kind], index) => {
    if (kind.sort !== 'list') return void (out[name] = decodeScalar(name, kind, at(index)));
    const count = Number(decodeScalar(`${name}.length`, uint(48), at(tail)));
    if (count > kind.max) throw malformed(name, `at most ${kind.max} items`, `${count}`);
    out[name] = Array.from({ length: count }, (_, i) => decodeScalar(name, kind.item, at(tail + 1 + i)));
    tail += 1 + count;
  });
  out['windows'] = Object.fromEntries(
    windows.map((name, i) => [name, decodeScalar(`windows.${name}`, uint32, at(fields.length + i))]),
  );
  if (!equalBytes(encodeTuple(layout, out), encoded)) {
    throw malformedEncoding('the canonical ABI encoding of Terms', 'another encoding');
  }
  return out;
}

/** Least and greatest length of an encoding. */
export function encodedBytes({ fields, windows }: Layout): { readonly min: number; readonly max: number } {
  const lists = fields.flatMap(([, kind]) => (kind.sort === 'list' ? [kind.max] : []));
  const least = 1 + fields.length + windows.length + lists.length;
  return { min: 32 * least, max: 32 * (least + lists.reduce((a, b) => a + b, 0)) };
}

/** JSON with byte strings as 0x-hex and amounts as decimal strings. */
export function tupleJson({ fields }: Layout, values: Values): Record<string, unknown> {
  const shown = (kind: Scalar, value: unknown): unknown => {
    if (kind.sort === 'bytes') return to0x(value as Uint8Array);
    return kind.sort === 'amount' ? String(value) : value;
  };
  const entries = fields.map(([name, kind]) => {
    const value = values[name];
    return [name, kind.sort === 'list' ? (value as unknown[]).map((one) => shown(kind.item, one)) : shown(kind, value)];
  });
  return { ...Object.fromEntries(entries), windows: { ...(values['windows'] as Values) } };
}

/**
 * @param json a parsed JSON value; unknown and missing members are refused
 * @throws Rejection TERMS_FIELD, BYTES_HEX
 */
export function parseTupleJson(layout: Layout, json: unknown): Values {
  const { fields, windows } = layout;
  const source = membersOf('terms', json, [...fields.map(([name]) => name), 'windows']);
  const out: Record<string, unknown> = {};
  for (const [name, kind] of fields) {
    const value = source[name];
    if (kind.sort !== 'list') out[name] = fromJson(name, kind, value);
    else if (!Array.isArray(value)) throw malformed(name, 'a list', describe(value));
    else out[name] = value.slice(0, kind.max + 1).map((item) => fromJson(name, kind.item, item));
  }
  const lengths = membersOf('windows', source['windows'], windows);
  out['windows'] = Object.fromEntries(
    windows.map((name) => [name, fromJson(`windows.${name}`, uint32, lengths[name])]),
  );
  encodeTuple(layout, out);
  return out;
}

function fromJson(name: string, kind: Scalar, value: unknown): unknown {
  if (kind.sort === 'number') {
    if (typeof value !== 'number') throw malformed(name, 'a number', describe(value));
    return value;
  }
  if (typeof value !== 'string' || value.length > 80) throw malformed(name, 'a string', describe(value));
  if (kind.sort === 'bytes') return fromHex(value);
  if (!/^(0|[1-9][0-9]{0,38})$/.test(value)) throw malformed(name, 'a decimal integer', describe(value));
  return BigInt(value);
}

function membersOf(name: string, value: unknown, allowed: readonly string[]): Values {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed(name, 'an object', describe(value));
  }
  for (const key of Object.keys(value)) {
    if (!allowed.includes(key)) throw malformed(name, `only ${allowed.join(', ')}`, describe(key));
  }
  return value as Values;
}

function encodeList(name: string, { item, max }: Extract<Kind, { sort: 'list' }>, value: unknown): Uint8Array {
  if (!Array.isArray(value)) throw malformed(name, 'a list', describe(value));
  if (value.length > max) throw malformed(name, `at most ${max} items`, `${value.length}`);
  return concatBytes(word(value.length), ...value.map((one) => encodeScalar(name, item, one)));
}

/** One ABI word: integers and addresses right-aligned, fixed bytes left-aligned. */
function encodeScalar(name: string, kind: Scalar, value: unknown): Uint8Array {
  const fits =
    kind.sort === 'bytes'
      ? value instanceof Uint8Array && value.length === kind.size
      : kind.sort === 'amount'
        ? typeof value === 'bigint' && value >= 0n && value < 1n << BigInt(8 * kind.size)
        : Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** (8 * kind.size);
  if (!fits) throw malformed(name, `${kind.sort} of ${kind.size} bytes`, describe(value));
  if (kind.sort !== 'bytes') return word(value as number | bigint);
  const padding = new Uint8Array(32 - kind.size);
  return kind === address ? concatBytes(padding, value as Uint8Array) : concatBytes(value as Uint8Array, padding);
}

function decodeScalar(name: string, kind: Scalar, encoded: Uint8Array): unknown {
  if (encoded.length !== 32) throw malformedEncoding(`${name} within the encoding`, 'its end');
  if (kind.sort === 'bytes') {
    return kind === address ? encoded.slice(32 - kind.size) : encoded.slice(0, kind.size);
  }
  if (!isZero(encoded.subarray(0, 32 - kind.size))) throw malformed(name, `${kind.size} bytes`, 'a larger integer');
  const value = BigInt(to0x(encoded));
  return kind.sort === 'amount' ? value : Number(value);
}

function describe(value: unknown): string {
  return value instanceof Uint8Array ? `${value.length} bytes` : String(value).slice(0, 60);
}

function malformed(member: string, expected: string, got: string): Rejection {
  return new Rejection('TERMS_FIELD', { expected: `${member}: ${expected}`, got, rule: 'contracts/SPEC.md §5' });
}

function malformedEncoding(expected: string, got: string): Rejection {
  return new Rejection('TERMS_ENCODING', { expected, got, rule: 'contracts/SPEC.md §3' });
}
