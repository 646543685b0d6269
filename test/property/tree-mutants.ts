/**
 * Mutants of decoded messages, CBOR or JSON: a leaf changed, a list or map with members fewer, more, renamed or exchanged. Byte
 * strings and texts that hold a message of their own are opened, so that what reads them is reached too.
 */
import { decodeCanonical, encodeCanonical, equalBytes, fromHex, to0x, type CborValue } from '#attestation/base';
import { mutantOf } from './mutants.js';
import type { Draw } from './random.js';

/** CBOR or JSON. Objects without a prototype of their own are JSON's. */
type Tree = unknown;
type Key = string | number;
type Path = readonly unknown[];

const lists = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const maps = (value: unknown): value is ReadonlyMap<unknown, unknown> => value instanceof Map;
const objects = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !lists(value) && !maps(value) && !(value instanceof Uint8Array);

function entriesOf(value: Tree): (readonly [unknown, Tree])[] {
  if (lists(value)) return value.map((item, index) => [index, item]);
  if (maps(value)) return [...value];
  return objects(value) ? Object.entries(value) : [];
}

/** Of everything in the tree, itself included. */
function* pathsOf(tree: Tree, path: Path = []): Generator<Path> {
  yield path;
  for (const [key, item] of entriesOf(tree)) yield* pathsOf(item, [...path, key]);
}

function at(tree: Tree, path: Path): Tree {
  return path.reduce((value, key) => entriesOf(value).find(([name]) => name === key)![1], tree);
}

function changedAt(tree: Tree, path: Path, change: (value: Tree) => Tree): Tree {
  if (path.length === 0) return change(tree);
  const [first, ...rest] = path;
  return withEntries(
    tree,
    entriesOf(tree).map(([key, item]) => [key, key === first ? changedAt(item, rest, change) : item]),
  );
}

function withEntries(like: Tree, entries: readonly (readonly [unknown, Tree])[]): Tree {
  if (lists(like)) return entries.map(([, item]) => item);
  return maps(like) ? new Map(entries) : Object.fromEntries(entries as [Key, Tree][]);
}

/** One to two changes. Whether it can be encoded, and differs, is the caller's to see. */
export function treeMutant(tree: Tree, draw: Draw): Tree {
  let mutant = tree;
  for (let round = 1 + (draw(3) >> 1); round > 0; round--) {
    const paths = [...pathsOf(mutant)];
    const path = paths[draw(paths.length)]!;
    const other = at(mutant, paths[draw(paths.length)]!);
    const way = draw(12);
    if (way === 0) mutant = changedAt(mutant, path, () => other);
    else if (way === 1) mutant = changedAt(mutant, path, () => foreign[draw(foreign.length)]);
    else mutant = changedAt(mutant, path, (value) => changed(value, draw));
  }
  return mutant;
}

/** Canonical bytes that differ from the genuine ones. */
export function cborMutant(tree: CborValue, genuine: Uint8Array, draw: Draw): Uint8Array {
  for (;;) {
    const bytes = encoded(treeMutant(tree, draw));
    if (bytes !== null && !equalBytes(bytes, genuine)) return bytes;
  }
}

function encoded(tree: Tree): Uint8Array | null {
  try {
    return encodeCanonical(tree as CborValue);
  } catch {
    return null;
  }
}

/** Of another type than whatever stood there. */
const foreign: readonly Tree[] = [null, 0, 1, '', 'x', true, [], {}, new Map(), new Uint8Array(), -1, '0', [[]]];

function changed(value: Tree, draw: Draw): Tree {
  if (value instanceof Uint8Array) return changedBytes(value, draw);
  if (typeof value === 'string') return changedText(value, draw);
  if (typeof value === 'number' || typeof value === 'bigint') return changedNumber(value, draw);
  if (typeof value === 'boolean') return !value;
  if (value === null || value === undefined) return [0, '', [], new Uint8Array(32)][draw(4)];
  return changedMembers(value, draw);
}

function changedNumber(value: number | bigint, draw: Draw): Tree {
  const near = BigInt(Math.trunc(Number(value)));
  const integers = [near + 1n, near - 1n, 0n, -near, 2n ** 31n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 40n, near * 2n];
  const next = integers[draw(integers.length)]!;
  return typeof value === 'bigint' ? next : Number(next);
}

function changedBytes(bytes: Uint8Array, draw: Draw): Uint8Array {
  const opened = draw(2) === 0 ? openedCbor(bytes) : null;
  if (opened === null) return mutantOf(bytes, draw);
  return encoded(treeMutant(opened, draw)) ?? bytes;
}

function openedCbor(bytes: Uint8Array): CborValue {
  try {
    const value = decodeCanonical(bytes);
    return maps(value) || lists(value) ? value : null;
  } catch {
    return null;
  }
}

const hex = /^0x([0-9a-f]{2})+$/;
const base64 = /^(?=.{16})(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const decimal = /^\d{1,78}$/;

function changedText(text: string, draw: Draw): Tree {
  if (draw(4) !== 0) {
    if (decimal.test(text)) return String(changedNumber(BigInt(text), draw));
    if (hex.test(text)) return to0x(mutantOf(fromHex(text.slice(2)), draw));
    if (base64.test(text)) return Buffer.from(changedBytes(Buffer.from(text, 'base64'), draw)).toString('base64');
  }
  const from = draw(text.length + 1);
  const strange = ['', ' ', '\0', '\u202e', '"', '\\', "'", '\ud800', '0', '9'.repeat(400), '../', '%00', 'é'];
  return [
    () => text.slice(0, from),
    () => `${text}${strange[draw(strange.length)]}`,
    () => `${text.slice(0, from)}${strange[draw(strange.length)]}${text.slice(from)}`,
    () => text.toUpperCase(),
    () => 'x'.repeat(2 ** draw(15)),
    () => [...text].toReversed().join(''),
  ][draw(6)]!();
}

/** Of what is large by itself, not so many. */
function isLeaf(value: Tree): boolean {
  return value instanceof Uint8Array ? value.length < 256 : entriesOf(value).length === 0;
}

function changedMembers(value: Tree, draw: Draw): Tree {
  const entries = entriesOf(value);
  if (entries.length === 0) return withEntries(value, [['x', 0]]);
  const [one, two] = [draw(entries.length), draw(entries.length)];
  const ways = [
    () => entries.toSpliced(one, 1),
    () => entries.toSpliced(two, 0, entries[one]!),
    () => entries.with(one, [entries[one]![0], entries[two]![1]]).with(two, [entries[two]![0], entries[one]![1]]),
    () => [...entries, [['__proto__', 'x', 'type', 'constructor'][draw(4)]!, entries[one]![1]] as const],
    () => entries.with(one, [`${String(entries[one]![0])}x`, entries[one]![1]]),
    () => [],
    () => entries.toReversed(),
    () => Array.from({ length: 2 ** draw(isLeaf(entries[one]![1]) ? 12 : 5) }, () => entries[one]!),
  ];
  return withEntries(value, ways[draw(ways.length)]!());
}
