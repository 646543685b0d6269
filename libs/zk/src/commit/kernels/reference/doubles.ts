/** Reference of the kernels over integers in doubles. */

/** Σ_k w[u][k]·x[k][b] + out[u][b]. */
export function sumProducts(w: readonly bigint[][], x: readonly bigint[][], out: readonly bigint[][]): bigint[][] {
  return out.map((row, u) => row.map((start, b) => w[u]!.reduce((sum, weight, k) => sum + weight * x[k]![b]!, start)));
}

/** out[i][o] - factor·Σ_b a[i][b]·g[o][b]. */
export function subtractOuter(
  a: readonly bigint[][],
  g: readonly bigint[][],
  factor: bigint,
  out: readonly bigint[][],
): bigint[][] {
  return out.map((row, i) =>
    row.map((start, o) => start - factor * a[i]!.reduce((sum, value, b) => sum + value * g[o]![b]!, 0n)),
  );
}
