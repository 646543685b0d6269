/** A bundle with one part of it altered: every member and item in its turn, and those within its byte strings. */
import { CodedError, decodeCanonical, encodeCanonical, type CborValue } from '#attestation/base';

interface Altered {
  /** Where, and what was done: `sessions[0].evidence.cpu.report: bit 0 of its last byte`. */
  readonly what: string;
  readonly bytes: Uint8Array;
}

type Change = readonly [what: string, value: CborValue];

/** Items of a list that are altered beyond those few are like them. */
const itemsMost = 2;

/** @param bytes of a bundle, deterministic CBOR; whatever leaves its bytes as they were is left out */
export function alterationsOf(bytes: Uint8Array): readonly Altered[] {
  const untouched = Buffer.from(bytes);
  return [...changesOf(decodeCanonical(bytes), '')]
    .map(([what, value]) => ({ what, bytes: encodeCanonical(value) }))
    .filter((one) => !untouched.equals(one.bytes));
}

function* changesOf(value: CborValue, path: string): Generator<Change> {
  if (value instanceof Map) yield* ofMap(value, path);
  else if (value instanceof Uint8Array) yield* ofBytes(value, path);
  else if (Array.isArray(value)) yield* ofList(value as readonly CborValue[], path);
  else if (typeof value === 'object' && value !== null && 'tag' in value) {
    yield [`${path}: without its tag`, value.value];
    for (const [what, inner] of changesOf(value.value, path)) yield [what, { ...value, value: inner }];
  } else yield [`${path}: another value`, another(value)];
}

function another(value: CborValue): CborValue {
  if (typeof value === 'string') return `${value}x`;
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'bigint') return value + 1n;
  return typeof value === 'number' ? value + 1 : 0;
}

function* ofMap(map: ReadonlyMap<CborValue, CborValue>, path: string): Generator<Change> {
  yield [`${path}: a member more`, new Map([...map, ['more', 0]])];
  for (const [key, value] of map) {
    const place = path === '' ? String(key) : `${path}.${String(key)}`;
    yield [`${place}: left out`, new Map([...map].filter(([other]) => other !== key))];
    yield [`${place}: null`, new Map([...map]).set(key, null)];
    for (const [what, changed] of changesOf(value, place)) yield [what, new Map([...map]).set(key, changed)];
  }
}

function* ofList(list: readonly CborValue[], path: string): Generator<Change> {
  const [last] = list.slice(-1);
  if (last !== undefined) yield [`${path}: its last item twice`, [...list, last]];
  for (const [at, item] of list.slice(0, itemsMost).entries()) {
    const place = `${path}[${at}]`;
    yield [`${place}: left out`, list.toSpliced(at, 1)];
    for (const [what, changed] of changesOf(item, place)) yield [what, list.with(at, changed)];
  }
}

function* ofBytes(bytes: Uint8Array, path: string): Generator<Change> {
  for (const [name, place] of [['first', 0] as const, ['middle', bytes.length >> 1] as const, ['last', -1] as const]) {
    if (bytes.length > 0) yield [`${path}: bit 0 of its ${name} byte`, flipped(bytes, place)];
  }
  yield [`${path}: one byte more`, new Uint8Array([...bytes, 0])];
  if (bytes.length > 0) yield [`${path}: nothing`, new Uint8Array()];
  const inner = decodedOr(bytes);
  if (typeof inner !== 'object' || inner === null || inner instanceof Uint8Array) return;
  for (const [what, changed] of changesOf(inner, path)) yield [what, encodeCanonical(changed)];
}

export function flipped(bytes: Uint8Array, place: number): Uint8Array {
  return bytes.map((byte, at) => (at === place || at === place + bytes.length ? byte ^ 1 : byte));
}

/** Null where the bytes are no canonical CBOR. */
export function decodedOr(bytes: Uint8Array): CborValue {
  try {
    return decodeCanonical(bytes);
  } catch (error) {
    if (error instanceof CodedError) return null;
    throw error;
  }
}
