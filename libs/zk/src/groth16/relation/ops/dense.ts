/** A dense layer in a circuit: forward, back and update. */
import type { LayerScale, Manifest } from '#libs/step';

export const forwardTemplate = `// Y = RS(A·W + 2^(2a)·b, s) within ybits.
template Dense(B, n, m, s, a, ybits) {
  signal input A[B][n];
  signal input W[n][m];
  signal input b[m];
  signal output Y[B][m];
  signal output bit[B][m][ybits];
  signal product[B][m][n];
  component round[B][m];
  for (var r = 0; r < B; r++) {
    for (var o = 0; o < m; o++) {
      var sum = b[o] * 2**(2 * a);
      for (var i = 0; i < n; i++) {
        product[r][o][i] <== A[r][i] * W[i][o];
        sum += product[r][o][i];
      }
      round[r][o] = Round(s, ybits);
      round[r][o].in <== sum;
      Y[r][o] <== round[r][o].out;
      bit[r][o] <== round[r][o].bit;
    }
  }
}

`;

export const backwardTemplates = `// G = RS(M ⊙ (H = E·Wᵀ), s) within gbits.
template Backward(B, n, m, s, gbits) {
  signal input E[B][m];
  signal input W[n][m];
  signal input M[B][n];
  signal output G[B][n];
  signal product[B][n][m];
  signal masked[B][n];
  component round[B][n];
  for (var r = 0; r < B; r++) {
    for (var i = 0; i < n; i++) {
      var sum = 0;
      for (var o = 0; o < m; o++) {
        product[r][i][o] <== E[r][o] * W[i][o];
        sum += product[r][i][o];
      }
      masked[r][i] <== M[r][i] * sum;
      round[r][i] = Round(s, gbits);
      round[r][i].in <== masked[r][i];
      G[r][i] <== round[r][i].out;
    }
  }
}

// V = W − size·AᵀG, c = b − size·Σ_r G.
template Update(B, n, m) {
  signal input A[B][n];
  signal input G[B][m];
  signal input W[n][m];
  signal input b[m];
  signal input size;
  signal output V[n][m];
  signal output c[m];
  signal scaled[B][m];
  signal product[n][m][B];
  for (var o = 0; o < m; o++) {
    var sum = 0;
    for (var r = 0; r < B; r++) {
      scaled[r][o] <== size * G[r][o];
      sum += scaled[r][o];
    }
    c[o] <== b[o] - sum;
    for (var i = 0; i < n; i++) {
      sum = 0;
      for (var r = 0; r < B; r++) {
        product[i][o][r] <== A[r][i] * scaled[r][o];
        sum += product[i][o][r];
      }
      V[i][o] <== W[i][o] - sum;
    }
  }
}

`;

/** @param input signal that the layer reads */
export function forwardLines({ batch, ybits }: Manifest, scale: LayerScale, input: string): string[] {
  const { layer: l, inputs, outputs, forwardShift, aIn } = scale;
  return [
    `  component dense${l} = Dense(${batch}, ${inputs}, ${outputs}, ${forwardShift}, ${aIn}, ${ybits});`,
    `  dense${l}.A <== ${input};`,
    `  dense${l}.W <== W${l};`,
    `  dense${l}.b <== b${l};`,
  ];
}

/** Y of a layer, and its bits. */
export const outputOf = (layer: number): string => `dense${layer}.Y`;
export const bitsOf = (layer: number): string => `dense${layer}.bit`;

/** @param error signal of the layer's error, `mask` that of the layer below */
export function backwardLines(
  { batch, gbits }: Manifest,
  { layer: l, inputs, outputs, backwardShift }: LayerScale,
  error: string,
  mask: string,
): string[] {
  if (backwardShift === undefined) return [];
  return [
    `  component back${l - 1} = Backward(${batch}, ${inputs}, ${outputs}, ${backwardShift}, ${gbits});`,
    `  back${l - 1}.E <== ${error};`,
    `  back${l - 1}.W <== W${l};`,
    `  back${l - 1}.M <== ${mask};`,
  ];
}

/** The error that a layer receives from the one above. */
export const errorOf = (layer: number): string => `back${layer}.G`;

export function updateLines({ batch }: Manifest, scale: LayerScale, input: string, error: string): string[] {
  const { layer: l, inputs, outputs } = scale;
  return [
    `  component update${l} = Update(${batch}, ${inputs}, ${outputs});`,
    `  update${l}.A <== ${input};`,
    `  update${l}.G <== ${error};`,
    `  update${l}.W <== W${l};`,
    `  update${l}.b <== b${l};`,
    `  update${l}.size <== size;`,
    `  next_W${l} <== update${l}.V;`,
    `  next_b${l} <== update${l}.c;`,
  ];
}

/** Within 5 %. */
export function constraints({ batch: B, ybits, gbits }: Manifest, scale: LayerScale): number {
  const { inputs: n, outputs: m, forwardShift, backwardShift } = scale;
  const forward = B * n * m + B * m * (Math.max(forwardShift, 0) + ybits);
  const backward = backwardShift === undefined ? 0 : B * n * (m + 1 + Math.max(backwardShift, 0) + gbits);
  return forward + backward + B * m * (n + 1);
}
