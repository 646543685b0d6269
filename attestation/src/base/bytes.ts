/** Byte-string helpers without any runtime's own types: the same in Node and in a browser. */
import { Rejection } from './errors.js';

const HEX = '0123456789abcdef';

export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += HEX[byte >> 4]! + HEX[byte & 15]!;
  return text;
}

/** 0x and lower-case hexadecimal digits, as the chain and JSON have it. */
export function to0x(bytes: Uint8Array): `0x${string}` {
  return `0x${toHex(bytes)}`;
}

/** @throws Rejection BYTES_HEX when `text` is not an even number of hexadecimal digits (an optional 0x prefix aside) */
export function fromHex(text: string): Uint8Array {
  const digits = text.startsWith('0x') ? text.slice(2) : text;
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) {
    throw new Rejection('BYTES_HEX', {
      expected: 'an even number of hexadecimal digits',
      got: text.length > 40 ? `${text.slice(0, 40)}…` : text,
      rule: 'attestation/SPEC.md §1',
    });
  }
  const bytes = new Uint8Array(digits.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(digits.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** @throws Rejection BYTES_UTF8 when the bytes are not well-formed UTF-8 */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Rejection('BYTES_UTF8', { expected: 'well-formed UTF-8', got: 'other bytes', rule: 'RFC 3629' });
  }
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    out.set(part, offset);
    offset += part.length;
  }
  return out;
}

/** Equality for public values; length may leak. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!;
  return difference === 0;
}

/** A copy with memory of its own: `slice` of a Buffer is a view, and what is done to it is done to the caller's bytes. */
export function copyOf(bytes: Uint8Array, start = 0, end = bytes.length): Uint8Array {
  return new Uint8Array(bytes.subarray(start, end));
}

/** Lexicographic order of unsigned bytes, shorter first on a tie. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}

export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

/** Unsigned big-endian integer in `size` bytes. */
export function uintBe(value: number | bigint, size: number): Uint8Array {
  const out = new Uint8Array(size);
  let rest = BigInt(value);
  for (let i = size - 1; i >= 0; i--) {
    out[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  if (rest !== 0n) throw new RangeError(`${value} does not fit in ${size} bytes`);
  return out;
}

/** Unsigned little-endian integer of `size` bytes at `offset`; the caller has checked the length. */
export function uintLe(bytes: Uint8Array, offset: number, size: number): bigint {
  let value = 0n;
  for (let i = size - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[offset + i]!);
  return value;
}

/** Unsigned big-endian integer of a whole byte string. */
export function uintFromBe(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return value;
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Value of a character by its code, 255 where it is none of the alphabet. */
const base64Values = Uint8Array.from({ length: 128 }, (_, code) => BASE64.indexOf(String.fromCharCode(code)) & 255);

/**
 * Base64 (RFC 4648 §4) or base64url (§5), padding optional, white space between characters ignored.
 * @throws Rejection BYTES_BASE64 for any other character, a length of 4n+1, or set bits behind the last byte
 */
export function fromBase64(text: string): Uint8Array {
  const digits = text
    .replace(/\s+/g, '')
    .replace(/-/g, '+')
    .replace(/_/g, '/')
    .replace(/={1,2}$/, '');
  const refuse = (): never => {
    throw new Rejection('BYTES_BASE64', { expected: 'base64', got: text.slice(0, 40), rule: 'RFC 4648 §4' });
  };
  if (digits.length % 4 === 1) refuse();
  const out = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let window = 0;
  let bits = 0;
  let length = 0;
  for (let at = 0; at < digits.length; at++) {
    const value = base64Values[digits.charCodeAt(at)] ?? 255;
    if (value === 255) refuse();
    window = ((window << 6) | value) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out[length++] = (window >> bits) & 0xff;
    }
  }
  if ((window & ((1 << bits) - 1)) !== 0) refuse();
  return out;
}

export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += base64Stretch) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + base64Stretch)));
  }
  return text;
}

/** Bytes encoded at once: a multiple of three, few enough to be arguments of one call. */
const base64Stretch = 3 * 4096;
