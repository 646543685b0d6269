/**
 * Runs the steps of a segment in exact float64 integers and keeps everything that a proof commits to or reasons about
 * (libs/step/SPEC.md §4, §5, §7; libs/zk/SPEC.md §4.1). Range rules R1 to R4 keep every value below 2^53 while weights
 * are in range; inside a segment they may stray, and their products are then summed in limbs.
 */
import {
  countsAt,
  guardTable,
  GuardViolation,
  type Examples,
  type LayerScale,
  type TensorGuard,
  type Weights,
} from '#libs/step';
import type { DoubleRows } from '../commit/backend.js';
import { dataColumns, paddedWeights, type Columns } from '../commit/columns.js';
import type { Shape } from '../commit/layout/shape.js';
import type { Backend } from './backend.js';
import { highLimbs, joined, largest, sumInLimbs } from './strayed.js';

export interface SegmentWitness {
  /** Blocks of S that are known before the multiplicities, by name; integers. */
  readonly witness: Columns;
  /** X and Y. */
  readonly data: Columns;
  /** W_l and b_l before and after, padded. */
  readonly before: Columns;
  readonly after: Columns;
  /** Products that are never committed: Z1 …, ZL, MH1 …, E (ε·ι), Q (ι·S), S. H may have a column of high limbs besides. */
  readonly virtual: Columns;
}

/** Everything one step reads and writes. */
interface StepState {
  readonly backend: Backend;
  readonly shape: Shape;
  readonly columns: SegmentWitness;
  readonly guards: ReadonlyMap<string, TensorGuard>;
  /** Position t of the step in the segment, its number in the job and its m_t. */
  readonly t: number;
  readonly step: number;
  readonly size: number;
}

/**
 * @param weights   before the segment
 * @param examples  the superblock's records, T·B of them
 * @param stepSizes m_t, 0 for null steps
 * @param guards    others than those of the relation for a witness that does not meet it
 * @throws GuardViolation GUARD_VIOLATION naming step and tensor
 */
export function executeSegment(
  backend: Backend,
  shape: Shape,
  weights: Weights,
  examples: Examples,
  firstStep: number,
  stepSizes: readonly number[],
  guards = guardTable(shape.manifest, 'proved'),
): SegmentWitness {
  const resident = (count: number): Float64Array => backend.doubles(count);
  const columns: SegmentWitness = {
    witness: new Map(),
    data: dataColumns(shape, examples, resident),
    before: paddedWeights(shape, weights),
    after: paddedWeights(shape, weights, resident),
    virtual: new Map(),
  };
  stepSizes.forEach((size, t) => runStep({ backend, shape, columns, guards, t, step: firstStep + t, size }));
  borderLimbs(shape, columns);
  return columns;
}

/** Weights after the segment, without padding. */
export function weightsAfter(shape: Shape, columns: SegmentWitness, like: Weights): Weights {
  return like.map((tensor) => {
    const padded = columns.after.get(tensor.name)!;
    const width = 2 ** shape.widthVars[Number(tensor.name.slice(1))]!;
    const [rows, columnsCount] = tensor.dims.length === 2 ? [tensor.dims[0]!, tensor.dims[1]!] : [1, tensor.dims[0]!];
    const values = new BigInt64Array(rows * columnsCount);
    for (let i = 0; i < rows; i++) {
      for (let o = 0; o < columnsCount; o++) values[i * columnsCount + o] = BigInt(padded[i * width + o]!);
    }
    return { ...tensor, values };
  });
}

function runStep(state: StepState): void {
  const { shape, columns } = state;
  const L = shape.layers.length;
  for (const scale of shape.layers) forward(state, scale);
  if (shape.loss === 'mse') squaredError(state);
  else softmax(state);
  for (let l = L - 1; l >= 1; l--) backward(state, shape.layers[l]!);
  for (const scale of shape.layers) update(state, scale, columns.after);
}

/** The slice of one step of a block [t, unit, b], or [unit, t, b] for the last layer: rows over b, one per unit. */
interface Slice extends DoubleRows {
  at(unit: number): number;
}

function slice(state: StepState, columns: Columns, name: string, layer: number): Slice {
  const { shape, t } = state;
  const [T, B, D] = [shape.manifest.superblock, 2 ** shape.batchVars, 2 ** shape.widthVars[layer]!];
  const data = column(state, columns, name, T * D * B);
  const isLast = layer === shape.layers.length;
  const [start, stride] = isLast ? [t * B, T * B] : [t * D * B, B];
  return { data, start, stride, at: (unit) => start + unit * stride };
}

function rowSlice(state: StepState, columns: Columns, name: string): Float64Array {
  const { manifest, batchVars } = state.shape;
  const B = 2 ** batchVars;
  return column(state, columns, name, manifest.superblock * B).subarray(state.t * B, (state.t + 1) * B);
}

function column(state: StepState, columns: Columns, name: string, size: number): Float64Array {
  const known = columns.get(name);
  if (known !== undefined) return known;
  const made = state.backend.doubles(size);
  columns.set(name, made);
  return made;
}

function weightRows(data: Float64Array, stride: number): DoubleRows {
  return { data, start: 0, stride };
}

/** Refuses values out of range. */
function guardOf({ guards, step }: StepState, tensor: string): (value: number) => void {
  const { low, high } = guards.get(tensor)!;
  const [least, most] = [Number(low), Number(high)];
  return (value) => {
    if (value < least || value > most) throw new GuardViolation(step, tensor, `${low}..${high}`, String(value));
  };
}

/** Whether float64 carries the products of a layer's weights as they are. */
function isCarried({ guards, columns, t }: StepState, layer: number): boolean {
  if (t === 0) return true;
  return [`W${layer}`, `b${layer}`].every((name) => largest(columns.after.get(name)!) <= guards.get(name)!.carriedMax);
}

function forward(state: StepState, scale: LayerScale): void {
  const { shape, columns } = state;
  const { layer, forwardShift: s, isLast, outputs } = scale;
  const [B, inputs, width] = [2 ** shape.batchVars, shape.manifest.dims[layer - 1]!, 2 ** shape.widthVars[layer]!];
  const input =
    layer === 1 ? slice(state, columns.data, 'X', 0) : slice(state, columns.witness, `A${layer - 1}`, layer - 1);
  const W = columns.after.get(`W${layer}`)!;
  const bias = columns.after.get(`b${layer}`)!;
  const Z = slice(state, columns.virtual, isLast ? 'ZL' : `Z${layer}`, layer);
  const units = isLast ? outputs : width;
  const top = 2 ** shape.manifest.abits - 1;
  const named = (name: string) => slice(state, columns.witness, isLast ? name : `${name}${layer}`, layer);
  const [high, low, A, M] = isLast ? [named('hL')] : [named('h'), named('l'), named('A'), named('M')];
  const Y = slice(state, columns.virtual, `Y${layer}`, layer);
  const grid = { data: W, unitStride: 1, inputStride: width, units, inputs };
  const scaledBias = (o: number): number => bias[o]! * 2 ** (2 * scale.aIn);
  if (isCarried(state, layer)) {
    for (let o = 0; o < units; o++) Z.data.fill(scaledBias(o), Z.at(o), Z.at(o) + B);
    state.backend.sumProducts(grid, input, B, Z);
  } else {
    const sums = sumInLimbs(state.backend, grid, input, B, scaledBias);
    for (let i = 0; i < units * B; i++) Z.data[Z.at(Math.floor(i / B)) + (i % B)] = joined(sums, i);
  }
  const [unit, limbUnit, guard] = [2 ** s, 2 ** (s - 16), guardOf(state, `Y${layer}`)];
  for (let o = 0; o < units; o++) {
    for (let i = Z.at(o); i < Z.at(o) + B; i++) {
      const rounded = Z.data[i]! + unit / 2;
      const y = Math.floor(rounded / unit);
      guard(y);
      const rest = rounded - y * unit;
      const limb = Math.floor(rest / limbUnit);
      high.data[i] = limb;
      Y.data[i] = y;
      if (low === undefined) continue;
      low.data[i] = rest - limb * limbUnit;
      A!.data[i] = Math.min(Math.max(y, 0), top);
      M!.data[i] = y > 0 && y < top ? 1 : 0;
    }
  }
}

function softmax(state: StepState): void {
  const { shape, columns } = state;
  const { classes, expVars, expValues } = shape;
  const [whole, reciprocal, tableEnd] = [2 ** shape.lossFraction, 2 ** shape.reciprocalBits, 2 ** expVars];
  const [B, last] = [2 ** shape.batchVars, shape.layers.length];
  const Y = slice(state, columns.virtual, `Y${last}`, last);
  const labels = slice(state, columns.data, 'Y', last);
  const [d, eps, sel, G, w] = (['d', 'eps', 'sel', 'GL', 'w'] as const).map((name) =>
    slice(state, columns.witness, name, last),
  ) as [Slice, Slice, Slice, Slice, Slice];
  const E = slice(state, columns.virtual, 'E', last);
  const [mu, iota] = [rowSlice(state, columns.witness, 'mu'), rowSlice(state, columns.witness, 'iota')];
  const [S, Q] = [rowSlice(state, columns.virtual, 'S'), rowSlice(state, columns.virtual, 'Q')];
  for (let b = 0; b < B; b++) {
    let best = 0;
    for (let c = 1; c < classes; c++) if (Y.data[Y.at(c) + b]! > Y.data[Y.at(best) + b]!) best = c;
    mu[b] = Y.data[Y.at(best) + b]!;
    sel.data[sel.at(best) + b] = 1;
    S[b] = 0;
    for (let c = 0; c < classes; c++) {
      const distance = mu[b]! - Y.data[Y.at(c) + b]!;
      d.data[d.at(c) + b] = distance;
      w.data[w.at(c) + b] = distance < tableEnd ? 1 : 0;
      eps.data[eps.at(c) + b] = expValues[distance] ?? 0;
      S[b]! += eps.data[eps.at(c) + b]!;
    }
    iota[b] = Math.floor(reciprocal / S[b]!);
    Q[b] = iota[b]! * S[b]!;
    for (let c = 0; c < classes; c++) {
      const product = eps.data[eps.at(c) + b]! * iota[b]!;
      E.data[E.at(c) + b] = product;
      const p = Math.floor((product + 2 ** 15) / 2 ** 16);
      G.data[G.at(c) + b] = p - whole * labels.data[labels.at(c) + b]!;
    }
  }
}

function squaredError(state: StepState): void {
  const { shape, columns } = state;
  const { classes, lossFraction: g, roundingShift } = shape;
  const last = shape.layers.length;
  const B = 2 ** shape.batchVars;
  const [Y, labels] = [slice(state, columns.virtual, `Y${last}`, last), slice(state, columns.data, 'Y', last)];
  const [YL, G] = [slice(state, columns.witness, 'YL', last), slice(state, columns.witness, 'GL', last)];
  const guard = guardOf(state, `G${last}`);
  for (let c = 0; c < classes; c++) {
    for (let b = 0; b < B; b++) {
      const y = Y.data[Y.at(c) + b]!;
      const rounded = Math.floor(y / 2 ** roundingShift + (roundingShift > 0 ? 0.5 : 0));
      const error = rounded - 2 ** g * labels.data[labels.at(c) + b]!;
      guard(error);
      YL.data[YL.at(c) + b] = y;
      G.data[G.at(c) + b] = error;
    }
  }
}

/** From the errors of layer l to those of layer l − 1. */
function backward(state: StepState, scale: LayerScale): void {
  const { shape, columns } = state;
  const { layer, outputs } = scale;
  const s = scale.backwardShift!;
  const [B, width] = [2 ** shape.batchVars, 2 ** shape.widthVars[layer]!];
  const isLast = layer === shape.layers.length;
  const G = slice(state, columns.witness, isLast ? 'GL' : `G${layer}`, layer);
  const W = columns.after.get(`W${layer}`)!;
  const below = layer - 1;
  const named = (from: Columns, name: string) => slice(state, from, `${name}${below}`, below);
  const [M, out, high] = [named(columns.witness, 'M'), named(columns.witness, 'G'), named(columns.witness, 'hp')];
  const [H, masked] = [named(columns.virtual, 'H'), named(columns.virtual, 'MH')];
  const units = 2 ** shape.widthVars[below]!;
  const grid = { data: W, unitStride: width, inputStride: 1, units, inputs: outputs };
  let product = (i: number): number => H.data[i]!;
  if (isCarried(state, layer)) state.backend.sumProducts(grid, G, B, H);
  else {
    // Where the mask is 0 no range holds H: the limbs stay apart.
    const sums = sumInLimbs(state.backend, grid, G, B, () => 0);
    const high = slice(state, columns.virtual, `H${below}${highLimbs}`, below);
    H.data.set(sums.low, H.start);
    high.data.set(sums.high, H.start);
    product = (i) => joined(sums, i - H.start);
  }
  const [unit, limbUnit, guard] = [2 ** s, 2 ** (s - 16), guardOf(state, `G${below}`)];
  for (let o = 0; o < units; o++) {
    for (let i = M.at(o); i < M.at(o) + B; i++) {
      masked.data[i] = M.data[i] === 1 ? product(i) : 0;
      const rounded = masked.data[i]! + unit / 2;
      const value = Math.floor(rounded / unit);
      guard(value);
      out.data[i] = value;
      high.data[i] = Math.floor((rounded - value * unit) / limbUnit);
    }
  }
}

function update(state: StepState, scale: LayerScale, weights: Columns): void {
  const { shape, columns, size } = state;
  const { layer, isLast, outputs, inputs } = scale;
  const [B, width] = [shape.batch, 2 ** shape.widthVars[layer]!];
  const A =
    layer === 1 ? slice(state, columns.data, 'X', 0) : slice(state, columns.witness, `A${layer - 1}`, layer - 1);
  const G = slice(state, columns.witness, isLast ? 'GL' : `G${layer}`, layer);
  const W = weights.get(`W${layer}`)!;
  const bias = weights.get(`b${layer}`)!;
  for (let o = 0; o < outputs; o++) {
    let total = 0;
    for (let b = 0; b < B; b++) total += G.data[G.at(o) + b]!;
    bias[o]! -= size * total;
  }
  state.backend.subtractOuter(A, inputs, G, outputs, B, size, weightRows(W, width));
  for (const [name, values] of [
    [`W${layer}`, W],
    [`b${layer}`, bias],
  ] as const) {
    if (countsAt(shape.manifest, state.guards.get(name)!, state.step)) values.forEach(guardOf(state, name));
  }
}

/** Signed high limbs of the weights after the segment. */
function borderLimbs(shape: Shape, columns: SegmentWitness): void {
  for (const { layer, weightBits, biasBits } of shape.layers) {
    columns.witness.set(`hW${layer}`, highLimb(columns.after.get(`W${layer}`)!, weightBits));
    columns.witness.set(`hb${layer}`, highLimb(columns.after.get(`b${layer}`)!, biasBits));
  }
}

function highLimb(values: Float64Array, bits: number): Float64Array {
  const unit = 2 ** (bits - 15);
  return values.map((value) => Math.floor(value / unit));
}
