/** Points of a code domain in the order in which codewords are stored (libs/zk/SPEC.md §9.1). */
import { GENERATOR, mul, rootOfUnity } from './goldilocks.js';

/**
 * y_i = 7·ω_{2^{m+R}}^{i >> m}·ω_{2^m}^{bitrev_m(i mod 2^m)}, a factor for each bit of i: bit k of the coset stands for
 * the root of order 2^{m+R−k}, bit k of the position, reversed, for that of order 2^{k+1}.
 */
export function domainPoint(index: number, m: number, logBlowup: number): bigint {
  let point = GENERATOR;
  for (let k = 0; k < m + logBlowup; k++) {
    if (Math.floor(index / 2 ** k) % 2 === 1) point = mul(point, rootOfUnity(k < m ? k + 1 : 2 * m + logBlowup - k));
  }
  return point;
}
