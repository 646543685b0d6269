/** The logarithm of the metric `loss` by table (libs/step/SPEC.md §29), fraction 16. */

/** ln 2 at fraction 16. */
const lnTwo = 45_426;
const indexBits = 15;
const precision = 128n;
let table: Int32Array | undefined;

/** `L[i] = floor(2^16·ln(1 + i·2^-15) + 1/2)`, i = 0 … 2^15 − 1, by integer arithmetic. */
export function logarithmTable(): Int32Array {
  if (table !== undefined) return table;
  const made = new Int32Array(1 << indexBits);
  const half = 1n << (precision - 17n);
  let ln = 0n;
  for (let i = 0; i < made.length; i++) {
    made[i] = Number((ln + half) >> (precision - 16n));
    ln += lnOfNext(BigInt((1 << indexBits) + i));
  }
  table = made;
  return table;
}

/** ln((n + 1)/n) = Σ 2/((2k+1)·(2n+1)^(2k+1)), at 2^-128. */
function lnOfNext(n: bigint): bigint {
  const odd = 2n * n + 1n;
  let power = (2n << precision) / odd;
  let sum = 0n;
  for (let k = 1n; power !== 0n; k += 2n) {
    sum += power / k;
    power /= odd * odd;
  }
  return sum;
}

/**
 * `LN(S) = L[FDIV(S, 2^j) − 2^15] + (j + 15)·45426` with j such that `2^15 ≤ FDIV(S, 2^j) < 2^16`.
 *
 * @param S a whole number, 1 … 2^53
 */
export function logarithm(S: number): number {
  let j = -indexBits;
  while (S >= 2 ** (j + indexBits + 1)) j++;
  return logarithmTable()[Math.floor(S * 2 ** -j) - 2 ** indexBits]! + (j + indexBits) * lnTwo;
}
