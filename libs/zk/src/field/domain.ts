/** Points of a code domain in the order in which codewords are stored (SPEC §9.1). */
import { GENERATOR, mul, pow, rootOfUnity } from './goldilocks.js';

/** The lowest `bits` bits of `value` in reverse order. */
export function reverseBits(value: number, bits: number): number {
  let reversed = 0;
  for (let k = 0; k < bits; k++) reversed = 2 * reversed + (Math.floor(value / 2 ** k) % 2);
  return reversed;
}

/** y_i = 7·ω_{2^{m+R}}^{i >> m}·ω_{2^m}^{bitrev_m(i mod 2^m)}. */
export function domainPoint(index: number, m: number, logBlowup: number): bigint {
  const coset = Math.floor(index / 2 ** m);
  const position = reverseBits(index % 2 ** m, m);
  const shift = pow(rootOfUnity(m + logBlowup), BigInt(coset));
  return mul(GENERATOR, mul(shift, pow(rootOfUnity(m), BigInt(position))));
}
