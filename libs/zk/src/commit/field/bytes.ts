/** Field elements as bytes: big-endian, canonical (libs/zk/SPEC.md §1). */
import { Rejection } from '#attestation/base';
import { X, mul, weigh, type Ext } from './extension.js';
import * as base from './goldilocks.js';

const { P } = base;

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

function canonical(value: bigint): bigint {
  if (value < P) return value;
  throw notCanonical(value);
}

/** Big-endian words, without a bigint for each: p = 2^64 − 2^32 + 1. @throws Rejection STEP_NONCANONICAL */
export function requireCanonical(words: Uint8Array): void {
  const view = new DataView(words.buffer, words.byteOffset, words.byteLength);
  for (let at = 0; at < words.length; at += 8) {
    if (view.getUint32(at) === 0xffffffff && view.getUint32(at + 4) !== 0) throw notCanonical(view.getBigUint64(at));
  }
}

function notCanonical(value: bigint): Rejection {
  return new Rejection('STEP_NONCANONICAL', {
    expected: 'a field element below 2^64 − 2^32 + 1',
    got: value.toString(),
    rule: 'libs/zk/SPEC.md §1',
  });
}

/** @throws Rejection STEP_NONCANONICAL when one of the two words at `offset` is not below p */
export function readExt(bytes: Uint8Array, offset: number): Ext {
  return extAt(new DataView(bytes.buffer, bytes.byteOffset), offset);
}

/** As `readExt`, where many elements are read from the same bytes. @throws Rejection STEP_NONCANONICAL */
export function extAt(view: DataView, offset: number): Ext {
  return { c0: canonical(view.getBigUint64(offset)), c1: canonical(view.getBigUint64(offset + 8)) };
}

/** Of each message Σ weights_k·element_k over its extension elements, canonical and at most as many as weights. */
export function weighExt(messages: readonly Uint8Array[], weights: readonly Ext[]): Ext[] {
  const count = messages[0]!.length / 16;
  return weigh(
    messages,
    weights.slice(0, count).flatMap((weight) => [weight, mul(weight, X)]),
  );
}

/** Of a 64-bit word, which is below 2p. */
function reduced(value: bigint): bigint {
  return value < P ? value : value - P;
}

/** 2^64 mod p. */
const twoTo64 = 0xffffffffn;

/** ext(d) of libs/zk/SPEC.md §5: two 128-bit halves of a digest, each reduced (bias below 2^-64). */
export function extFromDigest(digest: Uint8Array): Ext {
  const view = new DataView(digest.buffer, digest.byteOffset);
  const half = (at: number): bigint =>
    base.add(base.mul(view.getBigUint64(at), twoTo64), reduced(view.getBigUint64(at + 8)));
  return { c0: half(0), c1: half(16) };
}
