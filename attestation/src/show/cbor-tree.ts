/** CBOR as a tree of rows with offsets, for people: shows what is there in whatever encoding, and judges nothing. */
import { fromUtf8, toHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import type { FieldRow } from './fields.js';

const depthMax = 16;
const rowsMax = 4096;
const breakByte = 0xff;

interface Head {
  readonly major: number;
  /** Length, count or value; Infinity where the item says its end later. */
  readonly value: number;
  /** Offset of what follows the head. */
  readonly next: number;
}

/** How a reader names what is found. */
interface CborNames {
  /** Name of an element, from its parent's name and its index or key; the root has none. */
  nameOf(parent: string, key: string): string;
  /** Whether the byte string of that name holds CBOR itself. */
  holdsCbor(name: string): boolean;
}

/** @throws Rejection EVIDENCE_CBOR */
export function cborRows(bytes: Uint8Array, names: CborNames): FieldRow[] {
  const walker = new Walker(bytes, names);
  const end = walker.walk({ offset: 0, limit: bytes.length, name: '', depth: depthMax });
  if (end !== bytes.length) throw malformed('the end of the file', `${bytes.length - end} more bytes`);
  return walker.rows;
}

/** One item to read: where it starts, where its parent ends, what it is called, how deep it may still go. */
interface Place {
  readonly offset: number;
  readonly limit: number;
  readonly name: string;
  readonly depth: number;
}

class Walker {
  readonly rows: FieldRow[] = [];

  constructor(
    private readonly bytes: Uint8Array,
    private readonly names: CborNames,
  ) {}

  /** @returns the offset behind the item */
  walk(place: Place): number {
    if (place.depth === 0) throw malformed(`at most ${depthMax} levels`, 'more');
    const head = readHead(this.bytes, place.offset, place.limit);
    switch (head.major) {
      case 0:
        return this.row(place, `${head.value}`, head.next);
      case 1:
        return this.row(place, `${-1 - head.value}`, head.next);
      case 2:
      case 3:
        return this.string(place, head);
      case 4:
      case 5:
        return this.container(place, head);
      case 6:
        return this.walk({ ...place, offset: head.next });
      default:
        return this.row(place, ['false', 'true', 'null', 'undefined'][head.value - 20] ?? 'simple', head.next);
    }
  }

  private row({ name, offset }: Place, value: string, end: number): number {
    if (this.rows.length >= rowsMax) throw malformed(`at most ${rowsMax} fields`, 'more');
    this.rows.push({ name, offset, size: end - offset, value });
    return end;
  }

  private string(place: Place, { major, value, next }: Head): number {
    if (value > place.limit - next) throw malformed(`${value} bytes at ${next}`, `${place.limit - next}`);
    const end = next + value;
    if (major === 2 && value > 0 && this.names.holdsCbor(place.name)) {
      this.walk({ ...place, offset: next, limit: end, depth: place.depth - 1 });
      return end;
    }
    const content = this.bytes.subarray(next, end);
    return this.row(place, major === 2 ? toHex(content) : JSON.stringify(fromUtf8(content)), end);
  }

  private container(place: Place, { major, value: count, next }: Head): number {
    const open = !Number.isFinite(count);
    if (place.name !== '') this.row(place, `${major === 4 ? 'array' : 'map'} of ${open ? 'open length' : count}`, next);
    let offset = next;
    for (let index = 0; index < count; index++) {
      if (open && this.bytes[offset] === breakByte) return offset + 1;
      let key = `${index}`;
      if (major === 5) [key, offset] = this.key(offset, place.limit);
      const { limit, depth } = place;
      offset = this.walk({ offset, limit, name: this.names.nameOf(place.name, key), depth: depth - 1 });
    }
    return offset;
  }

  private key(offset: number, limit: number): [key: string, next: number] {
    const { major, value, next } = readHead(this.bytes, offset, limit);
    if (major <= 1) return [`${major === 0 ? value : -1 - value}`, next];
    if (major !== 3 || value > Math.min(256, limit - next)) throw malformed('keys of text or integers', 'another key');
    return [fromUtf8(this.bytes.subarray(next, next + value)), next + value];
  }
}

function readHead(bytes: Uint8Array, offset: number, limit: number): Head {
  if (offset >= limit) throw malformed(`an item at ${offset}`, 'the end');
  const major = bytes[offset]! >> 5;
  const info = bytes[offset]! & 31;
  if (info < 24) return { major, value: info, next: offset + 1 };
  if (info === 31 && (major === 4 || major === 5)) return { major, value: Infinity, next: offset + 1 };
  if (info > 27) throw malformed('a length', `additional information ${info}`);
  const size = 2 ** (info - 24);
  if (offset + 1 + size > limit) throw malformed(`${size} bytes of length at ${offset}`, 'the end');
  const value = bytes.subarray(offset + 1, offset + 1 + size).reduce((sum, byte) => sum * 256 + byte, 0);
  return { major, value, next: offset + 1 + size };
}

function malformed(expected: string, got: string): Rejection {
  return new Rejection('EVIDENCE_CBOR', { expected, got, rule: 'RFC 8949 §3' });
}
