/**
 * Shapes of decoded messages: each field is a function that takes an untrusted value and returns a typed one or
 * rejects it with its path. Unknown fields are refused; there are no defaults.
 */
import type { CborValue } from './cbor.js';
import { Rejection } from './errors.js';

export type Field<T> = (value: unknown, path: string) => T;
type Shape = Readonly<Record<string, Field<unknown>>>;
export type Partially<T> = { readonly [K in keyof T]?: T[K] | undefined };
export type Shaped<S extends Shape> = { readonly [K in keyof S]: S[K] extends Field<infer T> ? T : never };

export const uint =
  (max = Number.MAX_SAFE_INTEGER, min = 0): Field<number> =>
  (value, path) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
      throw mismatch(path, `an integer from ${min} to ${max}`, value);
    }
    return value;
  };

export const text =
  (maxLength: number): Field<string> =>
  (value, path) => {
    if (typeof value !== 'string' || value.length > maxLength) {
      throw mismatch(path, `text of at most ${maxLength} characters`, value);
    }
    return value;
  };

/** Exactly `size` bytes. */
export const bytes =
  (size: number): Field<Uint8Array> =>
  (value, path) => {
    if (!(value instanceof Uint8Array) || value.length !== size) throw mismatch(path, `${size} bytes`, value);
    return value;
  };

export const bytesUpTo =
  (max: number): Field<Uint8Array> =>
  (value, path) => {
    if (!(value instanceof Uint8Array) || value.length > max) throw mismatch(path, `at most ${max} bytes`, value);
    return value;
  };

export const oneOf =
  <const T extends string | number | boolean>(...allowed: readonly T[]): Field<T> =>
  (value, path) => {
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) throw mismatch(path, allowed.join(' | '), value);
    return found;
  };

export const nullable =
  <T>(field: Field<T>): Field<T | null> =>
  (value, path) =>
    value === null ? null : field(value, path);

export const list =
  <T>(item: Field<T>, maxLength: number): Field<readonly T[]> =>
  (value, path) => {
    if (!Array.isArray(value) || value.length > maxLength) {
      throw mismatch(path, `a list of at most ${maxLength} items`, value);
    }
    return value.map((entry, index) => item(entry, `${path}[${index}]`));
  };

/** One item or more: where there is none the member is left out. */
export const listOfSome =
  <T>(item: Field<T>, maxLength: number): Field<readonly T[]> =>
  (value, path) => {
    const items = list(item, maxLength)(value, path);
    if (items.length === 0) throw mismatch(path, 'one item or more', value);
    return items;
  };

/** The members of `optional` that a map has; a map without them keeps the bytes it had before there were such. */
export const recordWith =
  <S extends Shape, O extends Shape>(shape: S, optional: O): Field<Shaped<S> & Partially<Shaped<O>>> =>
  (value, path) => {
    const used = Object.entries(optional).filter(([name]) => value instanceof Map && value.has(name));
    return record({ ...shape, ...Object.fromEntries(used) })(value, path) as Shaped<S> & Partially<Shaped<O>>;
  };

/** A map with exactly these text keys. */
export const record =
  <S extends Shape>(shape: S): Field<Shaped<S>> =>
  (value, path) => {
    if (!(value instanceof Map)) throw mismatch(path, 'a map', value);
    for (const key of value.keys()) {
      if (typeof key !== 'string' || !Object.hasOwn(shape, key)) {
        throw mismatch(path, `only the fields ${Object.keys(shape).join(', ')}`, key);
      }
    }
    const out: Record<string, unknown> = {};
    for (const [key, field] of Object.entries(shape)) {
      if (!value.has(key)) throw mismatch(`${path}.${key}`, 'this field', undefined);
      out[key] = field(value.get(key), `${path}.${key}`);
    }
    return out as Shaped<S>;
  };

/** @throws Rejection MESSAGE_SIZE, before anything is parsed */
export function checkLength(name: string, encoded: Uint8Array, max: number): void {
  if (encoded.length > max) {
    throw new Rejection('MESSAGE_SIZE', {
      expected: `a ${name} of at most ${max} bytes`,
      got: `${encoded.length} bytes`,
      rule: 'attestation/SPEC.md, limits',
    });
  }
}

/** The CBOR form of what `record` reads: objects become maps, without members that are undefined; everything else stays. */
export function toCbor(value: unknown): CborValue {
  if (value instanceof Uint8Array || value === null || typeof value !== 'object') return value as CborValue;
  if (Array.isArray(value)) return value.map(toCbor);
  return new Map(
    Object.entries(value)
      .filter(([, entry]) => entry !== undefined)
      .map(([key, entry]) => [key, toCbor(entry)]),
  );
}

function mismatch(path: string, expected: string, value: unknown): Rejection {
  return new Rejection('MESSAGE_SHAPE', {
    expected: `${path}: ${expected}`,
    got: describe(value),
    rule: 'attestation/SPEC.md, messages',
    action: 'send the documented fields and nothing else',
  });
}

function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof Map) return 'a map';
  return String(value).slice(0, 60);
}
