/** The hidden activation in a circuit. */
import type { LayerScale, Manifest } from '#libs/step';

export const template = `// A = CLAMP(Y, 0, 2^abits − 1), M = [0 < Y < 2^abits − 1], Y given by the bits of Y + 2^(ybits−1).
template Activation(B, n, ybits, abits) {
  signal input bit[B][n][ybits];
  signal output A[B][n];
  signal output M[B][n];
  var high = ybits - 1 - abits;
  var top = 2**abits - 1;
  signal fits[B][n][high + 1];
  signal clipped[B][n];
  signal inside[B][n];
  signal inverse[B][n];
  for (var r = 0; r < B; r++) {
    for (var o = 0; o < n; o++) {
      var low = 0;
      for (var i = 0; i < abits; i++) low += bit[r][o][i] * 2**i;
      fits[r][o][0] <== 1;
      for (var i = 0; i < high; i++) fits[r][o][i + 1] <== fits[r][o][i] * (1 - bit[r][o][abits + i]);
      clipped[r][o] <== fits[r][o][high] * (low - top) + top;
      A[r][o] <== bit[r][o][ybits - 1] * clipped[r][o];
      inside[r][o] <== A[r][o] * (top - A[r][o]);
      inverse[r][o] <-- inside[r][o] == 0 ? 0 : 1 / inside[r][o];
      M[r][o] <== inside[r][o] * inverse[r][o];
      inside[r][o] * (1 - M[r][o]) === 0;
      inverse[r][o] * (1 - M[r][o]) === 0;
    }
  }
}

`;

/** @param bits signal of the bits of Y */
export function lines(
  { batch, ybits, abits }: Manifest,
  { layer, outputs, isLast }: LayerScale,
  bits: string,
): string[] {
  if (isLast) return [];
  return [
    `  component act${layer} = Activation(${batch}, ${outputs}, ${ybits}, ${abits});`,
    `  act${layer}.bit <== ${bits};`,
  ];
}

export const outputOf = (layer: number): string => `act${layer}.A`;
export const maskOf = (layer: number): string => `act${layer}.M`;

/** Within 5 %. */
export function constraints({ batch, ybits, abits }: Manifest, { outputs, isLast }: LayerScale): number {
  return isLast ? 0 : batch * outputs * (ybits - abits + 4);
}
