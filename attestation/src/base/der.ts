/** A small strict reader of DER (ITU-T X.690 §10, §11): definite minimal lengths, minimal integers, nothing left over. */
import { toHex, uintFromBe } from './bytes.js';
import { Rejection } from './errors.js';
import { derDepthMax } from './limits.js';

export interface DerNode {
  /** Identifier octet, for example 0x30 for SEQUENCE, 0xa0 for [0] constructed. */
  readonly tag: number;
  readonly content: Uint8Array;
  /** Header and content. */
  readonly raw: Uint8Array;
}

export const derTag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

/**
 * Reads exactly one element.
 * @throws Rejection DER_MALFORMED for indefinite or long-winded lengths, multi-byte tags, truncation, trailing bytes
 */
export function readDer(bytes: Uint8Array): DerNode {
  const node = readAt(bytes, 0);
  if (node.raw.length !== bytes.length) malformed('no trailing bytes', `${bytes.length - node.raw.length}`);
  return node;
}

/** The elements inside a constructed node. */
export function derChildren(node: DerNode): DerNode[] {
  const children: DerNode[] = [];
  for (let offset = 0; offset < node.content.length;) {
    const child = readAt(node.content, offset);
    children.push(child);
    offset += child.raw.length;
  }
  return children;
}

/** The elements inside a node that must carry `tag`. */
export function derInside(node: DerNode | undefined, tag: number): DerNode[] {
  return derChildren(derExpect(node, tag));
}

export function derExpect(node: DerNode | undefined, tag: number): DerNode {
  if (node === undefined || node.tag !== tag)
    malformed(`tag 0x${tag.toString(16)}`, node ? `0x${node.tag.toString(16)}` : 'nothing');
  return node!;
}

/** Walks the whole tree of constructed nodes, so that no part of it escapes the strict reading. */
export function derCheckDeep(node: DerNode, depth = 0): void {
  if (depth > derDepthMax) malformed(`nesting of at most ${derDepthMax}`, 'more');
  if (node.tag === derTag.integer || node.tag === derTag.enumerated) derInteger(node, node.tag);
  if (node.tag === derTag.boolean) derBoolean(node);
  if (node.tag === derTag.oid) derOid(node);
  if (node.tag === derTag.null && node.content.length !== 0) malformed('an empty NULL', toHex(node.content));
  if ((node.tag & 0x20) === 0) return;
  for (const child of derChildren(node)) derCheckDeep(child, depth + 1);
}

/** Two's complement INTEGER in its shortest form. */
export function derInteger(node: DerNode | undefined, tag: number = derTag.integer): bigint {
  const { content } = derExpect(node, tag);
  const [first, second] = content;
  if (first === undefined) return malformed('an integer', 'no bytes');
  if (second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))) {
    malformed('the shortest integer', toHex(content.subarray(0, 2)));
  }
  const magnitude = uintFromBe(content);
  return first >= 0x80 ? magnitude - (1n << BigInt(8 * content.length)) : magnitude;
}

export function derBoolean(node: DerNode | undefined): boolean {
  const { content } = derExpect(node, derTag.boolean);
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) malformed('00 or ff', toHex(content));
  return content[0] === 0xff;
}

/** Dotted decimal; arcs below 2^53. */
export function derOid(node: DerNode | undefined): string {
  const { content } = derExpect(node, derTag.oid);
  const arcs: number[] = [];
  let arc = 0;
  let fresh = true;
  for (const byte of content) {
    if (fresh && byte === 0x80) malformed('minimal arcs', toHex(content));
    arc = arc * 128 + (byte & 0x7f);
    if (!Number.isSafeInteger(arc)) malformed('arcs below 2^53', toHex(content));
    fresh = byte < 0x80;
    if (fresh) {
      arcs.push(arc);
      arc = 0;
    }
  }
  if (!fresh || arcs.length === 0) malformed('a complete object identifier', toHex(content));
  const top = arcs[0]! < 80 ? Math.floor(arcs[0]! / 40) : 2;
  return [top, arcs[0]! - 40 * top, ...arcs.slice(1)].join('.');
}

/** Bytes of a BIT STRING without unused bits. */
export function derBitString(node: DerNode | undefined): Uint8Array {
  const { content } = derExpect(node, derTag.bitString);
  if (content[0] !== 0) malformed('a bit string of whole bytes', toHex(content.subarray(0, 1)));
  return content.subarray(1);
}

/**
 * Named bits of a BIT STRING (KeyUsage): index 0 is the highest bit of the first byte. Trailing zero bits, which DER
 * forbids here, are let through because AMD's own roots have them; they change no meaning and are signed.
 */
export function derNamedBits(node: DerNode | undefined): boolean[] {
  const { content } = derExpect(node, derTag.bitString);
  const unused = content[0] ?? 8;
  const last = content[content.length - 1] ?? 0;
  if (unused > 7 || (content.length === 1 && unused !== 0)) malformed('0 to 7 unused bits', `${unused}`);
  if (content.length > 1 && (last & ((1 << unused) - 1)) !== 0) malformed('unused bits of zero', toHex(content));
  return [...content.subarray(1)].flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((bit) => ((byte >> bit) & 1) === 1));
}

/** UTCTime or GeneralizedTime in the forms of RFC 5280 §4.1.2.5, as Unix seconds. */
export function derTime(node: DerNode | undefined): number {
  if (node === undefined) return malformed('a time', 'nothing');
  const text = String.fromCharCode(...node.content.subarray(0, 20));
  const short = node.tag === derTag.utcTime && /^\d{12}Z$/.test(text);
  const long = node.tag === derTag.generalizedTime && /^\d{14}Z$/.test(text);
  if (!short && !long) malformed('a time in UTC with seconds', text);
  const digits = short ? (Number(text.slice(0, 2)) < 50 ? '20' : '19') + text : text;
  const part = (from: number, to: number): number => Number(digits.slice(from, to));
  const [year, month, day] = [part(0, 4), part(4, 6), part(6, 8)];
  const [hour, minute, second] = [part(8, 10), part(10, 12), part(12, 14)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month) || hour > 23 || minute > 59 || second > 59) {
    malformed('a time that exists', text);
  }
  return ((daysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
}

/** Days from 1970-01-01 in the proleptic Gregorian calendar. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function readAt(bytes: Uint8Array, offset: number): DerNode {
  const tag = bytes[offset];
  const first = bytes[offset + 1];
  if (tag === undefined || first === undefined) return malformed('an element', 'the end of the input');
  if ((tag & 31) === 31) malformed('a tag of one byte', `0x${tag.toString(16)}`);
  let length = first;
  let start = offset + 2;
  if (first >= 0x80) {
    const size = first & 0x7f;
    if (size < 1 || size > 4) malformed('a definite length of at most 4 bytes', `0x${first.toString(16)}`);
    if (start + size > bytes.length) malformed('a complete length', 'the end of the input');
    length = Number(uintFromBe(bytes.subarray(start, start + size)));
    start += size;
    if (length < 0x80 || length < 2 ** (8 * (size - 1))) malformed('the shortest length', `${length} in ${size} bytes`);
  }
  const end = start + length;
  if (end > bytes.length) malformed(`${length} bytes of content`, `${bytes.length - start}`);
  return { tag, content: bytes.subarray(start, end), raw: bytes.subarray(offset, end) };
}

function malformed(expected: string, got: string): never {
  throw new Rejection('DER_MALFORMED', { expected, got, rule: 'ITU-T X.690 §10' });
}
