/**
 * Exact steps without a proof, over the prover's kernels (fixed-point §4, §5, §7): brings weights to the start of a
 * segment. Range rules R1 to R4 keep every integer below 2^53.
 */
import {
  expTable,
  GuardViolation,
  layerScales,
  stepSize,
  type Examples,
  type LayerScale,
  type Manifest,
  type Weights,
} from '#libs/step';
import type { Backend } from '#libs/zk';

type SoftmaxLoss = Extract<Manifest['loss'], { kind: 'softmax-ce' }>;

interface Layer {
  readonly scale: LayerScale;
  /** [inputs, outputs] row-major, and [outputs]. */
  readonly W: Float64Array;
  readonly b: Float64Array;
  /** Unit-major, B doubles per unit: input, pre-activation, mask and error of the layer. */
  readonly A: Float64Array;
  readonly Y: Float64Array;
  readonly M: Float64Array;
  readonly G: Float64Array;
}

export interface ExactTrainer {
  /** Trains step `step` on one block of B records. @throws GuardViolation GUARD_VIOLATION */
  train(step: number, block: Examples): void;
  weights(): Weights;
}

/** @throws ConfigurationError ZK_MEMORY_EXCEEDED */
export function createExactTrainer(backend: Backend, m: Manifest, start: Weights): ExactTrainer {
  const B = m.batch;
  const layers = layerScales(m).map((scale, i): Layer => {
    const [W, b] = [backend.doubles(scale.inputs * scale.outputs), backend.doubles(scale.outputs)];
    W.set(Float64Array.from(start[2 * i]!.values, Number));
    b.set(Float64Array.from(start[2 * i + 1]!.values, Number));
    const [A, Y, M, G] = [scale.inputs, scale.outputs, scale.outputs, scale.outputs].map((n) => backend.doubles(n * B));
    return { scale, W, b, A: A!, Y: Y!, M: M!, G: G! };
  });
  const train = (step: number, block: Examples): void => {
    loadInputs(layers[0]!, block, B);
    layers.forEach((layer, i) => forward(backend, m, layer, layers[i + 1], step));
    lossErrors(m, layers.at(-1)!, block.labels, step);
    for (let i = layers.length - 1; i > 0; i--) backward(backend, m, layers[i]!, layers[i - 1]!, step);
    for (const layer of layers) descend(backend, m, layer, step);
  };
  const weights = (): Weights =>
    start.map((tensor, i) => {
      const { W, b } = layers[i >> 1]!;
      return { ...tensor, values: BigInt64Array.from(i % 2 === 0 ? W : b, BigInt) };
    });
  return { train, weights };
}

function rows(data: Float64Array, stride: number): { data: Float64Array; start: number; stride: number } {
  return { data, start: 0, stride };
}

function loadInputs({ A, scale }: Layer, { features }: Examples, B: number): void {
  for (let b = 0; b < B; b++) for (let i = 0; i < scale.inputs; i++) A[i * B + b] = features[b * scale.inputs + i]!;
}

function forward(backend: Backend, m: Manifest, layer: Layer, next: Layer | undefined, step: number): void {
  const { scale, W, b, A, Y, M } = layer;
  const { inputs, outputs, forwardShift: s } = scale;
  const B = m.batch;
  for (let o = 0; o < outputs; o++) Y.fill(b[o]! * 2 ** (2 * scale.aIn), o * B, o * B + B);
  const grid = { data: W, unitStride: 1, inputStride: outputs, units: outputs, inputs };
  backend.sumProducts(grid, rows(A, B), B, rows(Y, B));
  const top = 2 ** m.abits - 1;
  for (let k = 0; k < Y.length; k++) {
    const y = Math.floor((Y[k]! + 2 ** (s - 1)) / 2 ** s);
    guardSigned(y, m.ybits, `Y${scale.layer}`, step);
    Y[k] = y;
    if (next === undefined) continue;
    next.A[k] = Math.min(Math.max(y, 0), top);
    M[k] = y > 0 && y < top ? 1 : 0;
  }
}

function lossErrors(m: Manifest, last: Layer, labels: Uint8Array, step: number): void {
  if (m.loss.kind === 'mse') squaredErrors(m, last, labels, step);
  else softmaxErrors(m, m.loss, last, labels);
}

function squaredErrors(m: Manifest, { scale, Y, G }: Layer, labels: Uint8Array, step: number): void {
  const { layer, outputs: C, g } = scale;
  const [B, shift] = [m.batch, m.a.at(-1)! - g];
  for (let k = 0; k < C * B; k++) {
    const rounded = Math.floor((Y[k]! + 2 ** (shift - 1)) / 2 ** shift);
    G[k] = rounded - (labels[k % B] === Math.floor(k / B) ? 2 ** g : 0);
    guardSigned(G[k]!, m.gbits, `G${layer}`, step);
  }
}

function softmaxErrors(m: Manifest, { E, k }: SoftmaxLoss, { scale, Y, G }: Layer, labels: Uint8Array): void {
  const { outputs: C, g } = scale;
  const [B, shift, table] = [m.batch, k - g, expTable(E, m.a.at(-1)!)];
  for (let b = 0; b < B; b++) {
    let best = -Infinity;
    for (let c = 0; c < C; c++) best = Math.max(best, Y[c * B + b]!);
    let S = 0;
    for (let c = 0; c < C; c++) S += table[best - Y[c * B + b]!]!;
    const iota = Math.floor(2 ** k / S);
    for (let c = 0; c < C; c++) {
      const p = Math.floor((table[best - Y[c * B + b]!]! * iota + 2 ** (shift - 1)) / 2 ** shift);
      G[c * B + b] = p - (labels[b] === c ? 2 ** g : 0);
    }
  }
}

/** From the errors of a layer to those of the layer below. */
function backward(backend: Backend, m: Manifest, layer: Layer, below: Layer, step: number): void {
  const { scale, W, G } = layer;
  const s = scale.backwardShift!;
  const grid = { data: W, unitStride: scale.outputs, inputStride: 1, units: scale.inputs, inputs: scale.outputs };
  below.G.fill(0);
  backend.sumProducts(grid, rows(G, m.batch), m.batch, rows(below.G, m.batch));
  for (let k = 0; k < below.G.length; k++) {
    const value = Math.floor((below.G[k]! + 2 ** (s - 1)) / 2 ** s);
    guardSigned(value, m.gbits, `G${below.scale.layer}`, step);
    below.G[k] = value * below.M[k]!;
  }
}

function descend(backend: Backend, m: Manifest, { scale, W, b, A, G }: Layer, step: number): void {
  const { inputs, outputs, layer, weightBits, biasBits } = scale;
  const [B, size] = [m.batch, stepSize(m, step)];
  for (let o = 0; o < outputs; o++) {
    let total = 0;
    for (let k = o * B; k < o * B + B; k++) total += G[k]!;
    b[o]! -= size * total;
  }
  backend.subtractOuter(rows(A, B), inputs, rows(G, B), outputs, B, size, rows(W, outputs));
  guardMagnitude(b, biasBits, `b${layer}`, step);
  guardMagnitude(W, weightBits, `W${layer}`, step);
}

function guardSigned(value: number, bits: number, tensor: string, step: number): void {
  const half = 2 ** (bits - 1);
  if (value >= -half && value < half) return;
  throw new GuardViolation(step, tensor, `signed ${bits} bits`, String(value));
}

function guardMagnitude(values: Float64Array, bits: number, tensor: string, step: number): void {
  for (const value of values) {
    if (Math.abs(value) < 2 ** bits) continue;
    throw new GuardViolation(step, tensor, `±(2^${bits} − 1)`, String(value));
  }
}
