/** A bundle with script in a string of it: every text, every name of a member, and the texts within its byte strings, in turn. */
import { decodeCanonical, encodeCanonical, type CborValue } from '#attestation/base';
import { decodedOr } from './parts.js';

/** What would run or break out wherever text became markup; as long as any text of a bundle may be. */
export const script = `"><img src=x onerror=alert(1)>`;
/** And wherever it became an address or script; too long for some places. */
export const longScript = `javascript:alert(2)//'><svg onload=alert(3)><x-ran></x-ran><script>alert(4)</script>${script}`;

interface Scripted {
  /** Where: `sessions[].result: submods.cpu.ear.status`. */
  readonly what: string;
  readonly bytes: Uint8Array;
}

type Change = readonly [what: string, value: CborValue];

/**
 * One for each place; items of a list are like each other, so that the first of each form stands for all.
 * @param text  instead of the file's own
 * @param seen  places that other files had already; grows
 */
export function scriptedOf(bytes: Uint8Array, text = script, seen = new Set<string>()): readonly Scripted[] {
  return [...changesOf(decodeCanonical(bytes), '', text)]
    .filter(([what]) => !seen.has(what) && seen.add(what))
    .map(([what, value]) => ({ what, bytes: encodeCanonical(value) }));
}

function* changesOf(value: CborValue, path: string, text: string): Generator<Change> {
  if (typeof value === 'string') yield [path, text];
  else if (value instanceof Map) yield* ofMap(value, path, text);
  else if (value instanceof Uint8Array) yield* ofBytes(value, path, text);
  else if (Array.isArray(value)) {
    const items = value as readonly CborValue[];
    for (const [at, item] of items.entries()) {
      for (const [what, changed] of changesOf(item, `${path}[]`, text)) yield [what, items.with(at, changed)];
    }
  } else if (typeof value === 'object' && value !== null && 'tag' in value) {
    for (const [what, inner] of changesOf(value.value, path, text)) yield [what, { ...value, value: inner }];
  }
}

function* ofMap(map: ReadonlyMap<CborValue, CborValue>, path: string, text: string): Generator<Change> {
  yield [`${path}: name of a member`, new Map([...map, [text, 0]])];
  for (const [key, value] of map) {
    const place = path === '' ? String(key) : `${path}.${String(key)}`;
    for (const [what, changed] of changesOf(value, place, text)) yield [what, new Map([...map]).set(key, changed)];
  }
}

/** CBOR, JSON, and texts of certificates; other bytes hold no text. */
function* ofBytes(bytes: Uint8Array, path: string, text: string): Generator<Change> {
  const inner = decodedOr(bytes);
  if (typeof inner === 'object' && inner !== null && !(inner instanceof Uint8Array)) {
    for (const [what, changed] of changesOf(inner, `${path}: `, text)) yield [what, encodeCanonical(changed)];
    return;
  }
  const own = Buffer.from(bytes).toString('latin1');
  if (/^[{[]/.test(own)) {
    for (const [what, changed] of scriptedTexts(own, text)) yield [`${path}: ${what}`, Buffer.from(changed)];
  }
  const certificate = inDer(bytes);
  if (certificate !== null) yield [`${path}: texts of a certificate`, certificate];
}

/** JSON with script in each of its texts in turn; names of members are like each other. */
export function* scriptedTexts(json: string, text = longScript): Generator<readonly [what: string, text: string]> {
  let hasName = false;
  for (const { 0: found, index } of json.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
    const end = index + found.length;
    const isName = /^\s*:/.test(json.slice(end));
    if (isName && hasName) continue;
    hasName ||= isName;
    yield [found.slice(0, 24), json.slice(0, index) + JSON.stringify(text) + json.slice(end)];
  }
}

/** ITU-T X.690: UTF8String, PrintableString, IA5String. */
const textTags: readonly number[] = [0x0c, 0x13, 0x16];

/** The texts of names, each as long as before, so that the certificate can still be read. */
function inDer(bytes: Uint8Array): Uint8Array | null {
  if (bytes[0] !== 0x30) return null;
  const changed = bytes.slice();
  for (let at = 0; at + 2 < bytes.length; at++) {
    const length = bytes[at + 1]!;
    const text = bytes.subarray(at + 2, at + 2 + length);
    const isText = text.length >= 7 && text.length === length && text.every((byte) => byte > 31 && byte < 127);
    if (!textTags.includes(bytes[at]!) || length > 127 || !isText) continue;
    changed.set(Buffer.from('<x-ran>'.padEnd(length, script).slice(0, length)), at + 2);
  }
  return Buffer.from(bytes).equals(changed) ? null : changed;
}
