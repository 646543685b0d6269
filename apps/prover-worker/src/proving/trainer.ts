/**
 * Exact steps without a proof, over the prover's kernels (libs/step/SPEC.md §4, §5, §7): brings weights to the start
 * of a segment. Range rules R1 to R4 keep every integer below 2^53 while weights are in range; inside a segment they
 * may stray.
 */
import {
  countsAt,
  expTable,
  guardTable,
  GuardViolation,
  layerScales,
  stepSize,
  type Examples,
  type LayerScale,
  type Manifest,
  type TensorGuard,
  type Weights,
} from '#libs/step';
import { joined, largest, sumInLimbs, type Backend } from '#libs/zk';

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

/** What every part of a step reads. */
interface Step {
  readonly backend: Backend;
  readonly m: Manifest;
  readonly guards: ReadonlyMap<string, TensorGuard>;
  readonly step: number;
}

interface ExactTrainer {
  /**
   * Trains step `step` on one block of B records; a null step behind the job's last moves nothing.
   *
   * @throws GuardViolation GUARD_VIOLATION: the step's segment has no witness, so no proof of it exists
   */
  train(step: number, block: Examples): void;
  weights(): Weights;
}

/** @throws ConfigurationError ZK_MEMORY_EXCEEDED */
export function createExactTrainer(
  backend: Backend,
  m: Manifest,
  start: Weights,
  guards = guardTable(m, 'proved'),
): ExactTrainer {
  const B = m.batch;
  const layers = layerScales(m).map((scale, i): Layer => {
    const [W, b] = [backend.doubles(scale.inputs * scale.outputs), backend.doubles(scale.outputs)];
    W.set(Float64Array.from(start[2 * i]!.values, Number));
    b.set(Float64Array.from(start[2 * i + 1]!.values, Number));
    const [A, Y, M, G] = [scale.inputs, scale.outputs, scale.outputs, scale.outputs].map((n) => backend.doubles(n * B));
    return { scale, W, b, A: A!, Y: Y!, M: M!, G: G! };
  });
  const train = (step: number, block: Examples): void => {
    const mark = backend.mark();
    const own: Step = { backend, m, guards, step };
    loadInputs(layers[0]!, block, B);
    layers.forEach((layer, i) => forward(own, layer, layers[i + 1]));
    lossErrors(own, layers.at(-1)!, block.labels);
    for (let i = layers.length - 1; i > 0; i--) backward(own, layers[i]!, layers[i - 1]!);
    for (const layer of layers) descend(own, layer);
    backend.release(mark);
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

function forward(own: Step, layer: Layer, next: Layer | undefined): void {
  const { backend, m } = own;
  const { scale, W, b, A, Y, M } = layer;
  const { inputs, outputs, forwardShift: s } = scale;
  const B = m.batch;
  const grid = { data: W, unitStride: 1, inputStride: outputs, units: outputs, inputs };
  const scaledBias = (o: number): number => b[o]! * 2 ** (2 * scale.aIn);
  if (isCarried(own, layer)) {
    for (let o = 0; o < outputs; o++) Y.fill(scaledBias(o), o * B, o * B + B);
    backend.sumProducts(grid, rows(A, B), B, rows(Y, B));
  } else {
    const sums = sumInLimbs(backend, grid, rows(A, B), B, scaledBias);
    for (let k = 0; k < Y.length; k++) Y[k] = joined(sums, k);
  }
  const top = 2 ** m.abits - 1;
  const guard = guardOf(own, `Y${scale.layer}`);
  for (let k = 0; k < Y.length; k++) {
    const y = Math.floor((Y[k]! + 2 ** (s - 1)) / 2 ** s);
    guard(y);
    Y[k] = y;
    if (next === undefined) continue;
    next.A[k] = Math.min(Math.max(y, 0), top);
    M[k] = y > 0 && y < top ? 1 : 0;
  }
}

function lossErrors(own: Step, last: Layer, labels: Uint8Array): void {
  const { m } = own;
  if (m.loss.kind === 'mse') squaredErrors(own, last, labels);
  else softmaxErrors(m, m.loss, last, labels);
}

function squaredErrors(own: Step, { scale, Y, G }: Layer, labels: Uint8Array): void {
  const { m } = own;
  const { layer, outputs: C, g } = scale;
  const guard = guardOf(own, `G${layer}`);
  const [B, shift] = [m.batch, m.a.at(-1)! - g];
  for (let k = 0; k < C * B; k++) {
    const rounded = Math.floor((Y[k]! + 2 ** (shift - 1)) / 2 ** shift);
    G[k] = rounded - (labels[k % B] === Math.floor(k / B) ? 2 ** g : 0);
    guard(G[k]!);
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
function backward(own: Step, layer: Layer, below: Layer): void {
  const { backend, m } = own;
  const { scale, W, G } = layer;
  const s = scale.backwardShift!;
  const grid = { data: W, unitStride: scale.outputs, inputStride: 1, units: scale.inputs, inputs: scale.outputs };
  if (isCarried(own, layer)) {
    below.G.fill(0);
    backend.sumProducts(grid, rows(G, m.batch), m.batch, rows(below.G, m.batch));
  } else {
    const sums = sumInLimbs(backend, grid, rows(G, m.batch), m.batch, () => 0);
    for (let k = 0; k < below.G.length; k++) below.G[k] = joined(sums, k);
  }
  const guard = guardOf(own, `G${below.scale.layer}`);
  for (let k = 0; k < below.G.length; k++) {
    const value = below.M[k] === 1 ? Math.floor((below.G[k]! + 2 ** (s - 1)) / 2 ** s) : 0;
    guard(value);
    below.G[k] = value;
  }
}

function descend(own: Step, { scale, W, b, A, G }: Layer): void {
  const { backend, m, guards, step } = own;
  const { inputs, outputs, layer } = scale;
  const [B, size] = [m.batch, stepSize(m, step)];
  for (let o = 0; o < outputs; o++) {
    let total = 0;
    for (let k = o * B; k < o * B + B; k++) total += G[k]!;
    b[o]! -= size * total;
  }
  backend.subtractOuter(rows(A, B), inputs, rows(G, B), outputs, B, size, rows(W, outputs));
  for (const [tensor, values] of [
    [`W${layer}`, W],
    [`b${layer}`, b],
  ] as const) {
    if (countsAt(m, guards.get(tensor)!, step)) values.forEach(guardOf(own, tensor));
  }
}

/** Whether float64 carries the products of a layer's weights as they are. */
function isCarried({ m, guards, step }: Step, { scale, W, b }: Layer): boolean {
  if (step % m.superblock === 0) return true;
  const within = (tensor: string, values: Float64Array): boolean => largest(values) <= guards.get(tensor)!.carriedMax;
  return within(`W${scale.layer}`, W) && within(`b${scale.layer}`, b);
}

/** Refuses values out of range. */
function guardOf({ guards, step }: Step, tensor: string): (value: number) => void {
  const { low, high } = guards.get(tensor)!;
  const [least, most] = [Number(low), Number(high)];
  return (value) => {
    if (value < least || value > most) throw new GuardViolation(step, tensor, `${low}..${high}`, String(value));
  };
}
