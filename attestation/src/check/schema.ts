/**
 * Descriptions of signed JSON documents: each node both reads an untrusted value strictly (unknown fields refused) and
 * states itself as JSON Schema, so that the published schema cannot drift from the parser.
 */
import { Rejection } from '../base/errors.js';
import { policyListMax } from '../base/limits.js';

export interface Node<T> {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly optional?: true;
  /** @throws Rejection DOCUMENT_SHAPE with the path of the field */
  read(value: unknown, path: string): T;
}
type Optional<T> = Node<T> & { readonly optional: true };
type Fields = Readonly<Record<string, Node<unknown>>>;
type Value<N> = N extends Node<infer T> ? T : never;
type OptionalKeys<F extends Fields> = { [K in keyof F]: F[K] extends Optional<unknown> ? K : never }[keyof F];
export type Described<F extends Fields> = { readonly [K in Exclude<keyof F, OptionalKeys<F>>]: Value<F[K]> } & {
  readonly [K in OptionalKeys<F>]?: Value<F[K]>;
};

export const flag: Node<boolean> = {
  schema: { type: 'boolean' },
  read: (value, path) => (typeof value === 'boolean' ? value : refuse(path, 'true or false', value)),
};

export const integer = (minimum = 0, maximum = Number.MAX_SAFE_INTEGER): Node<number> => ({
  schema: { type: 'integer', minimum, maximum },
  read: (value, path) =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum && value <= maximum
      ? value
      : refuse(path, `an integer from ${minimum} to ${maximum}`, value),
});

export const text = (maxLength = 256): Node<string> => ({
  schema: { type: 'string', minLength: 1, maxLength },
  read: (value, path) =>
    typeof value === 'string' && value.length > 0 && value.length <= maxLength
      ? value
      : refuse(path, `text of 1 to ${maxLength} characters`, value),
});

/** Lower-case hexadecimal of one of the given numbers of bytes. */
export const hex = (...sizes: readonly number[]): Node<string> => {
  const pattern = `^(?:${sizes.map((size) => `[0-9a-f]{${2 * size}}`).join('|')})$`;
  return {
    schema: { type: 'string', pattern },
    read: (value, path) =>
      typeof value === 'string' && new RegExp(pattern).test(value)
        ? value
        : refuse(path, `${sizes.join(' or ')} bytes in lower-case hexadecimal`, value),
  };
};

export const oneOf = <const T extends string | number>(...allowed: readonly T[]): Node<T> => ({
  schema: { enum: allowed },
  read: (value, path) => allowed.find((candidate) => candidate === value) ?? refuse(path, allowed.join(' | '), value),
});

export const list = <T>(item: Node<T>, maxItems = policyListMax): Node<readonly T[]> => ({
  schema: { type: 'array', items: item.schema, maxItems },
  read: (value, path) =>
    Array.isArray(value) && value.length <= maxItems
      ? value.map((entry, index) => item.read(entry, `${path}[${index}]`))
      : refuse(path, `a list of at most ${maxItems}`, value),
});

export const optional = <T>(node: Node<T>): Optional<T> => ({ ...node, optional: true });

/** Exactly these fields; those that are not `optional` are required. */
export const object = <F extends Fields>(fields: F): Node<Described<F>> => ({
  schema: {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, node]) => [name, node.schema])),
    required: Object.keys(fields).filter((name) => fields[name]!.optional === undefined),
    additionalProperties: false,
  },
  read: (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(path, 'an object', value);
    const given = value as Readonly<Record<string, unknown>>;
    const unknown = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
    if (unknown !== undefined) refuse(`${path}.${unknown}`, 'no unknown field', given[unknown]);
    const entries = Object.entries(fields).flatMap(([name, node]) =>
      given[name] === undefined && node.optional ? [] : [[name, node.read(given[name], `${path}.${name}`)]],
    );
    return Object.fromEntries(entries) as Described<F>;
  },
});

/** An object used as a map from a key of the pattern to values of one kind. */
export const dictionary = <T>(keyPattern: string, item: Node<T>): Node<Readonly<Record<string, T>>> => ({
  schema: { type: 'object', propertyNames: { pattern: keyPattern }, additionalProperties: item.schema },
  read: (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(path, 'an object', value);
    const entries = Object.entries(value).map(([key, entry]) =>
      new RegExp(keyPattern).test(key)
        ? [key, item.read(entry, `${path}.${key}`)]
        : refuse(path, `keys ${keyPattern}`, key),
    );
    return Object.fromEntries(entries) as Record<string, T>;
  },
});

function refuse(path: string, expected: string, value: unknown): never {
  const got = value === undefined ? 'nothing' : (JSON.stringify(value) ?? typeof value);
  throw new Rejection('DOCUMENT_SHAPE', {
    expected: `${expected} at ${path}`,
    got: got.slice(0, 80),
    rule: 'attestation/SPEC.md §6.1',
  });
}
