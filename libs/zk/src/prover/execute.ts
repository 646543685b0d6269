/**
 * Runs the steps of a segment in exact float64 integers and keeps everything that a proof commits to or reasons about
 * (fixed-point §4, §5, §7; SPEC §4.1). Range rules R1 to R4 keep every value below 2^53.
 */
import { GuardViolation, type Examples, type LayerScale, type Weights } from '#libs/step';
import type { Shape } from '../relation/shape.js';
import type { Backend, DoubleRows } from './backend.js';

export type Columns = Map<string, Float64Array>;

export interface SegmentWitness {
  /** Blocks of S that are known before the multiplicities, by name; integers. */
  readonly witness: Columns;
  /** X and Y. */
  readonly data: Columns;
  /** W_l and b_l before and after, padded. */
  readonly before: Columns;
  readonly after: Columns;
  /** Products that are never committed: Z1 …, ZL, MH1 …, E (ε·ι), Q (ι·S), S. */
  readonly virtual: Columns;
}

/** Everything one step reads and writes. */
interface StepState {
  readonly backend: Backend;
  readonly shape: Shape;
  readonly columns: SegmentWitness;
  /** Position t of the step in the segment, its number in the job and its m_t. */
  readonly t: number;
  readonly step: number;
  readonly size: number;
}

/**
 * @param weights   before the segment
 * @param examples  the superblock's records, T·B of them
 * @param stepSizes m_t, 0 for null steps
 * @throws GuardViolation GUARD_VIOLATION naming step and tensor
 */
export function executeSegment(
  backend: Backend,
  shape: Shape,
  weights: Weights,
  examples: Examples,
  firstStep: number,
  stepSizes: readonly number[],
): SegmentWitness {
  const columns: SegmentWitness = {
    witness: new Map(),
    data: resident(backend, dataColumns(shape, examples)),
    before: paddedWeights(shape, weights),
    after: resident(backend, paddedWeights(shape, weights)),
    virtual: new Map(),
  };
  stepSizes.forEach((size, t) => runStep({ backend, shape, columns, t, step: firstStep + t, size }));
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

function resident(backend: Backend, columns: Columns): Columns {
  return new Map(
    [...columns].map(([name, values]) => {
      const copy = backend.doubles(values.length);
      copy.set(values);
      return [name, copy];
    }),
  );
}

export function dataColumns(shape: Shape, examples: Examples): Columns {
  const { manifest, widthVars, classes } = shape;
  const [T, B, n0, D0] = [manifest.superblock, manifest.batch, manifest.dims[0]!, 2 ** widthVars[0]!];
  const X = new Float64Array(T * D0 * B);
  const Y = new Float64Array(2 ** widthVars.at(-1)! * T * B);
  for (let t = 0; t < T; t++) {
    for (let b = 0; b < B; b++) {
      const record = t * B + b;
      for (let i = 0; i < n0; i++) X[(t * D0 + i) * B + b] = examples.features[record * n0 + i]!;
      const label = examples.labels[record]!;
      if (label < classes) Y[(label * T + t) * B + b] = 1;
    }
  }
  return new Map([
    ['X', X],
    ['Y', Y],
  ]);
}

export function paddedWeights(shape: Shape, weights: Weights): Columns {
  return new Map(
    weights.map(({ name, dims, values }) => {
      const layer = Number(name.slice(1));
      const width = 2 ** shape.widthVars[layer]!;
      const rows = dims.length === 2 ? 2 ** shape.widthVars[layer - 1]! : 1;
      const columns = dims.at(-1)!;
      const out = new Float64Array(rows * width);
      for (let k = 0; k < values.length; k++) {
        out[Math.floor(k / columns) * width + (k % columns)] = Number(values[k]!);
      }
      return [name, out];
    }),
  );
}

function runStep(state: StepState): void {
  const { shape, columns } = state;
  const L = shape.layers.length;
  for (const scale of shape.layers) forward(state, scale);
  softmax(state);
  for (let l = L - 1; l >= 1; l--) backward(state, shape.layers[l]!);
  for (const scale of shape.layers) update(state, scale, columns.after);
}

/** The slice of one step of a block [t, unit, b], or [unit, t, b] for the last layer: rows over b, one per unit. */
interface Slice extends DoubleRows {
  at(unit: number): number;
}

function slice(state: StepState, columns: Columns, name: string, layer: number): Slice {
  const { shape, t } = state;
  const [T, B, D] = [shape.manifest.superblock, shape.manifest.batch, 2 ** shape.widthVars[layer]!];
  const data = column(state, columns, name, T * D * B);
  const isLast = layer === shape.layers.length;
  const [start, stride] = isLast ? [t * B, T * B] : [t * D * B, B];
  return { data, start, stride, at: (unit) => start + unit * stride };
}

function rowSlice(state: StepState, columns: Columns, name: string): Float64Array {
  const { superblock, batch } = state.shape.manifest;
  return column(state, columns, name, superblock * batch).subarray(state.t * batch, (state.t + 1) * batch);
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

function guard(state: StepState, value: number, bits: number, tensor: string): void {
  const half = 2 ** (bits - 1);
  if (value < -half || value >= half) {
    throw new GuardViolation(state.step, tensor, `signed ${bits} bits`, String(value));
  }
}

function forward(state: StepState, scale: LayerScale): void {
  const { shape, columns } = state;
  const { layer, forwardShift: s, isLast, outputs } = scale;
  const [B, inputs, width] = [shape.manifest.batch, shape.manifest.dims[layer - 1]!, 2 ** shape.widthVars[layer]!];
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
  for (let o = 0; o < units; o++) Z.data.fill(bias[o]! * 2 ** (2 * scale.aIn), Z.at(o), Z.at(o) + B);
  state.backend.sumProducts({ data: W, unitStride: 1, inputStride: width, units, inputs }, input, B, Z);
  for (let o = 0; o < units; o++) {
    for (let b = 0; b < B; b++) {
      const rounded = Z.data[Z.at(o) + b]! + 2 ** (s - 1);
      const y = Math.floor(rounded / 2 ** s);
      guard(state, y, 16, `Y${layer}`);
      const rest = rounded - y * 2 ** s;
      const limb = Math.floor(rest / 2 ** (s - 16));
      high.data[high.at(o) + b] = limb;
      Y.data[Y.at(o) + b] = y;
      if (low === undefined) continue;
      low.data[low.at(o) + b] = rest - limb * 2 ** (s - 16);
      A!.data[A!.at(o) + b] = Math.min(Math.max(y, 0), top);
      M!.data[M!.at(o) + b] = y > 0 && y < top ? 1 : 0;
    }
  }
}

function softmax(state: StepState): void {
  const { shape, columns } = state;
  const { classes, lossFraction: g, reciprocalBits, expVars, expValues } = shape;
  const [B, last] = [shape.manifest.batch, shape.layers.length];
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
      w.data[w.at(c) + b] = distance < 2 ** expVars ? 1 : 0;
      eps.data[eps.at(c) + b] = expValues[distance] ?? 0;
      S[b]! += eps.data[eps.at(c) + b]!;
    }
    iota[b] = Math.floor(2 ** reciprocalBits / S[b]!);
    Q[b] = iota[b]! * S[b]!;
    for (let c = 0; c < classes; c++) {
      const product = eps.data[eps.at(c) + b]! * iota[b]!;
      E.data[E.at(c) + b] = product;
      const p = Math.floor((product + 2 ** 15) / 2 ** 16);
      G.data[G.at(c) + b] = p - 2 ** g * labels.data[labels.at(c) + b]!;
    }
  }
}

/** From the errors of layer l to those of layer l − 1. */
function backward(state: StepState, scale: LayerScale): void {
  const { shape, columns } = state;
  const { layer, outputs } = scale;
  const s = scale.backwardShift!;
  const [B, width] = [shape.manifest.batch, 2 ** shape.widthVars[layer]!];
  const isLast = layer === shape.layers.length;
  const G = slice(state, columns.witness, isLast ? 'GL' : `G${layer}`, layer);
  const W = columns.after.get(`W${layer}`)!;
  const below = layer - 1;
  const named = (from: Columns, name: string) => slice(state, from, `${name}${below}`, below);
  const [M, out, high] = [named(columns.witness, 'M'), named(columns.witness, 'G'), named(columns.witness, 'hp')];
  const [H, masked] = [named(columns.virtual, 'H'), named(columns.virtual, 'MH')];
  const units = 2 ** shape.widthVars[below]!;
  state.backend.sumProducts({ data: W, unitStride: width, inputStride: 1, units, inputs: outputs }, G, B, H);
  for (let i = 0; i < units; i++) {
    for (let b = 0; b < B; b++) {
      const product = M.data[M.at(i) + b]! * H.data[H.at(i) + b]!;
      masked.data[masked.at(i) + b] = product;
      const rounded = product + 2 ** (s - 1);
      const value = Math.floor(rounded / 2 ** s);
      guard(state, value, 16, `G${below}`);
      out.data[out.at(i) + b] = value;
      high.data[high.at(i) + b] = Math.floor((rounded - value * 2 ** s) / 2 ** (s - 16));
    }
  }
}

function update(state: StepState, scale: LayerScale, weights: Columns): void {
  const { shape, columns, size } = state;
  const { layer, isLast, outputs, inputs, weightBits, biasBits } = scale;
  const [B, width] = [shape.manifest.batch, 2 ** shape.widthVars[layer]!];
  const A =
    layer === 1 ? slice(state, columns.data, 'X', 0) : slice(state, columns.witness, `A${layer - 1}`, layer - 1);
  const G = slice(state, columns.witness, isLast ? 'GL' : `G${layer}`, layer);
  const W = weights.get(`W${layer}`)!;
  const bias = weights.get(`b${layer}`)!;
  for (let o = 0; o < outputs; o++) {
    let total = 0;
    for (let b = 0; b < B; b++) total += G.data[G.at(o) + b]!;
    bias[o] = within(state, bias[o]! - size * total, biasBits, `b${layer}`);
  }
  state.backend.subtractOuter(A, inputs, G, outputs, B, size, weightRows(W, width));
  for (const value of W) within(state, value, weightBits, `W${layer}`);
}

function within(state: StepState, value: number, bits: number, tensor: string): number {
  if (Math.abs(value) >= 2 ** bits) throw new GuardViolation(state.step, tensor, `±(2^${bits} − 1)`, String(value));
  return value;
}

/** Signed high limbs of the weights after the segment. */
function borderLimbs(shape: Shape, columns: SegmentWitness): void {
  for (const { layer, weightBits, biasBits } of shape.layers) {
    columns.witness.set(`hW${layer}`, highLimb(columns.after.get(`W${layer}`)!, weightBits));
    columns.witness.set(`hb${layer}`, highLimb(columns.after.get(`b${layer}`)!, biasBits));
  }
}

function highLimb(values: Float64Array, bits: number): Float64Array {
  return values.map((value) => Math.floor(value / 2 ** (bits - 15)));
}
