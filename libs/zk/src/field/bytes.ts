/** Field elements as bytes: big-endian, canonical (SPEC §1). */
import { Rejection } from '#attestation';
import type { Ext } from './extension.js';
import { P } from './goldilocks.js';

export function be64(value: bigint): Uint8Array {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, value);
  return out;
}

export function extBytes(value: Ext): Uint8Array {
  const out = new Uint8Array(16);
  const view = new DataView(out.buffer);
  view.setBigUint64(0, value.c0);
  view.setBigUint64(8, value.c1);
  return out;
}

/** One 32-byte word, u128be(c0) ‖ u128be(c1): the form of an out-of-domain value in a weight commitment. */
export function extWord(value: Ext): Uint8Array {
  const out = new Uint8Array(32);
  const view = new DataView(out.buffer);
  view.setBigUint64(8, value.c0);
  view.setBigUint64(24, value.c1);
  return out;
}

/** @throws Rejection STEP_NONCANONICAL when the 8 bytes at `offset` are not below p */
export function readBase(bytes: Uint8Array, offset: number): bigint {
  const value = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(offset);
  if (value >= P) {
    throw new Rejection('STEP_NONCANONICAL', {
      expected: 'a field element below 2^64 − 2^32 + 1',
      got: value.toString(),
      rule: 'step-proof §1',
    });
  }
  return value;
}

/** @throws Rejection STEP_NONCANONICAL */
export function readExt(bytes: Uint8Array, offset: number): Ext {
  return { c0: readBase(bytes, offset), c1: readBase(bytes, offset + 8) };
}

/** ext(d) of SPEC §5: two 128-bit halves of a digest, each reduced (bias below 2^-64). */
export function extFromDigest(digest: Uint8Array): Ext {
  const view = new DataView(digest.buffer, digest.byteOffset);
  const half = (at: number): bigint => ((view.getBigUint64(at) << 64n) | view.getBigUint64(at + 8)) % P;
  return { c0: half(0), c1: half(16) };
}
