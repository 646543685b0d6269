/** Reference of the encoder: Horner at every point of the domain (libs/zk/SPEC.md §2.1, §9.1). */
import { reversedBits } from '../../field/reversed-bits.js';
import * as F from '../../field/goldilocks.js';

/** Point of leaf index i: 7·w_{2^(m+R)}^c·w_{2^m}^bitrev_m(j) with c = i >> m, j = i mod 2^m. */
export function domainPoint(m: number, logBlowup: number, index: number): bigint {
  const coset = Math.floor(index / 2 ** m);
  const position = index % 2 ** m;
  const reversed = reversedBits(position, m);
  const shift = F.mul(F.GENERATOR, F.pow(F.rootOfUnity(m + logBlowup), BigInt(coset)));
  return F.mul(shift, F.pow(F.rootOfUnity(m), BigInt(reversed)));
}

/** Value of Σ message_j·y^j + y^(2^m)·Σ random_j·y^j at one point. */
export function evaluateRow(message: readonly bigint[], random: readonly bigint[], y: bigint): bigint {
  return [...message, ...random].reduceRight((value, coefficient) => F.add(F.mul(value, y), coefficient), 0n);
}

/** @param message   2^m coefficients */
export function encodeRow(message: readonly bigint[], random: readonly bigint[], logBlowup: number): bigint[] {
  const m = Math.log2(message.length);
  return Array.from({ length: message.length * 2 ** logBlowup }, (_, i) =>
    evaluateRow(message, random, domainPoint(m, logBlowup, i)),
  );
}
