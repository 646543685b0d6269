/** Constants by their series over whole numbers at 192 binary places; each is wrong by less than 2^-184. */

export const precision = 192n;
export const one = 1n << precision;

/** exp(−2^-a), a ≥ 0. */
export function expAt(a: number): bigint {
  let term = one;
  let sum = 0n;
  for (let n = 1n; term !== 0n; n++) {
    sum += term;
    term = -term / (n << BigInt(a));
  }
  return sum;
}

/** π = 16·atan(1/5) − 4·atan(1/239). */
export function piAt(): bigint {
  return 16n * arctangentOf(5n) - 4n * arctangentOf(239n);
}

/** atan(1/n). */
function arctangentOf(n: bigint): bigint {
  let power = one / n;
  let sum = 0n;
  for (let k = 1n; power !== 0n; k += 2n) {
    sum += k % 4n === 1n ? power / k : -power / k;
    power /= n * n;
  }
  return sum;
}
