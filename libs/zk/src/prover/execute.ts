/**
 * Runs the steps of a segment in exact float64 integers and keeps everything that a proof commits to or reasons about
 * (libs/step/SPEC.md §4, §5, §7; libs/zk/SPEC.md §4.1). Range rules R1 to R4 keep every value below 2^53 while weights
 * are in range; inside a segment they may stray, and their products are then summed in limbs.
 */
import { countsAt, guardTable, type Examples, type LayerScale, type Weights } from '#libs/step';
import type { DoubleRows } from '../commit/backend.js';
import {
  dataColumns,
  inSuperblocks,
  paddedWeights,
  unpaddedWeights,
  writeFeatures,
  writeLabels,
  writeRecords,
  type Columns,
} from '../commit/columns.js';
import type { Shape, StepShape } from '../commit/layout/shape.js';
import type { Backend } from './backend.js';
import { executedHeads } from './heads.js';
import { guardOf, slice, type SegmentRoom, type SegmentWitness, type StepState } from './step-state.js';
import { highLimbs, joined, largest, sumInLimbs } from './strayed.js';

export type { SegmentWitness } from './step-state.js';

/**
 * @param weights   before the segment
 * @param examples  the superblock's records, T·B of them; of a unit whose room names its superblocks the whole set
 * @param stepSizes m_t, 0 for null steps
 * @param guards    others than those of the relation for a witness that does not meet it
 * @param room      where columns are to lie; those that it does not name are made
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
  room?: SegmentRoom,
): SegmentWitness {
  const resident = (count: number): Float64Array => backend.doubles(count);
  if (room) fillRoom(shape, room, examples);
  const columns: SegmentWitness = {
    witness: new Map(room?.witness),
    data: room?.data ?? dataColumns(shape, examples, resident),
    before: paddedWeights(shape, weights),
    after: paddedWeights(shape, weights, resident),
    virtual: new Map(room?.virtual),
    ...(room?.superblocks && { superblocks: room.superblocks }),
  };
  const length = stepSizes.length / 2 ** shape.segmentVars;
  stepSizes.forEach((size, t) => {
    const at = { t, step: firstStep + t, size, isAtBorder: t % length === 0 };
    runStep({ backend, shape, columns, guards, ...at, isWitness: true });
    if ((t + 1) % length === 0 && !shape.isForward) keepBorder(shape, columns, (t + 1) / length - 1);
  });
  return columns;
}

function fillRoom(shape: Shape, { data, superblocks }: SegmentRoom, examples: Examples): void {
  if (superblocks === undefined) return writeRecords(shape, data, examples);
  const { superblock, batch } = shape.manifest;
  writeFeatures(shape, data.get('X')!, examples);
  writeLabels(shape, data.get('Y')!, inSuperblocks(examples, superblocks, superblock * batch));
}

/** Weights after the segment, without padding. */
export function weightsAfter(shape: StepShape, columns: Pick<SegmentWitness, 'after'>): Weights {
  return unpaddedWeights(shape, columns.after);
}

export function runStep(state: StepState): void {
  const { shape, columns } = state;
  for (const scale of shape.layers) forward(state, scale);
  executedHeads[shape.loss].run(state);
  if (shape.isForward) return;
  for (const scale of shape.layers.slice(1).reverse()) backward(state, scale);
  for (const scale of shape.layers) update(state, scale, columns.after);
}

function weightRows(data: Float64Array, stride: number): DoubleRows {
  return { data, start: 0, stride };
}

/** Whether float64 carries the products of a layer's weights as they are. */
function isCarried({ guards, columns, isAtBorder }: StepState, layer: number): boolean {
  if (isAtBorder) return true;
  return [`W${layer}`, `b${layer}`].every((name) => largest(columns.after.get(name)!) <= guards.get(name)!.carriedMax);
}

function forward(state: StepState, scale: LayerScale): void {
  const { shape, columns } = state;
  const { layer, forwardShift: s, isLast, inputs, outputs } = scale;
  const [B, width] = [shape.samples, shape.widths[layer]!];
  const input =
    layer === 1 ? slice(state, columns.data, 'X', 0) : slice(state, columns.witness, `A${layer - 1}`, layer - 1);
  const W = columns.after.get(`W${layer}`)!;
  const bias = columns.after.get(`b${layer}`)!;
  const Z = slice(state, columns.virtual, isLast ? 'ZL' : `Z${layer}`, layer);
  const units = isLast ? outputs : width;
  const top = 2 ** shape.manifest.abits - 1;
  const named = (name: string) => slice(state, columns.witness, isLast ? name : `${name}${layer}`, layer);
  const [high, low, A] = isLast ? [named('hL')] : [named('h'), named('l'), named('A')];
  const M = isLast || shape.isForward ? undefined : named('M');
  const Y = slice(state, columns.virtual, `Y${layer}`, layer);
  const grid = { data: W, unitStride: 1, inputStride: width, units, inputs };
  const scaledBias = (o: number): number => bias[o]! * 2 ** (2 * scale.aIn);
  if (isCarried(state, layer)) {
    for (let o = 0; o < units; o++) Z.data.fill(scaledBias(o), Z.at(o), Z.at(o) + B);
    state.backend.sumProducts(grid, input, B, Z);
  } else {
    const mark = state.backend.mark();
    const sums = sumInLimbs(state.backend, grid, input, B, scaledBias);
    for (let i = 0; i < units * B; i++) Z.data[Z.at(Math.floor(i / B)) + (i % B)] = joined(sums, i);
    state.backend.release(mark);
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
      if (M) M.data[i] = y > 0 && y < top ? 1 : 0;
    }
  }
}

/** From the errors of layer l to those of layer l − 1. */
function backward(state: StepState, scale: LayerScale): void {
  const { shape, columns } = state;
  const { layer, outputs } = scale;
  const s = scale.backwardShift!;
  const [B, width] = [shape.samples, shape.widths[layer]!];
  const isLast = layer === shape.layers.length;
  const G = slice(state, columns.witness, isLast ? 'GL' : `G${layer}`, layer);
  const W = columns.after.get(`W${layer}`)!;
  const below = layer - 1;
  const named = (from: Columns, name: string, mark = '') => slice(state, from, `${name}${below}${mark}`, below);
  const [M, out, high] = [named(columns.witness, 'M'), named(columns.witness, 'G'), named(columns.witness, 'hp')];
  const [H, masked] = [named(columns.virtual, 'H'), named(columns.virtual, 'MH')];
  const units = shape.widths[below]!;
  const grid = { data: W, unitStride: width, inputStride: 1, units, inputs: outputs };
  const isExact = isCarried(state, layer);
  const highProducts = isExact || !state.isWitness ? undefined : named(columns.virtual, 'H', highLimbs);
  const mark = state.backend.mark();
  let product = (i: number): number => H.data[i]!;
  if (isExact) {
    H.data.fill(0, H.start, H.start + units * B);
    state.backend.sumProducts(grid, G, B, H);
  } else {
    const sums = sumInLimbs(state.backend, grid, G, B, () => 0);
    product = (i) => joined(sums, i - H.start);
    // Where the mask is 0 no range holds H: a proof needs the limbs apart.
    if (highProducts !== undefined) {
      H.data.set(sums.low, H.start);
      highProducts.data.set(sums.high, highProducts.start);
    }
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
  state.backend.release(mark);
}

function update(state: StepState, scale: LayerScale, weights: Columns): void {
  const { shape, columns, size } = state;
  const { layer, isLast, outputs, inputs } = scale;
  const [B, width] = [shape.batch, shape.widths[layer]!];
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

/** Signed high limbs of the weights after a segment, and of several segments the weights. */
function keepBorder({ layers, segmentVars }: Shape, { witness, after }: SegmentWitness, segment: number): void {
  const keep = (name: string, values: Float64Array): void => {
    if (!witness.has(name)) witness.set(name, new Float64Array(2 ** segmentVars * values.length));
    witness.get(name)!.set(values, segment * values.length);
  };
  for (const { layer, weightBits, biasBits } of layers) {
    for (const [tensor, bits] of [
      ['W', weightBits],
      ['b', biasBits],
    ] as const) {
      const values = after.get(`${tensor}${layer}`)!;
      if (segmentVars > 0) keep(`${tensor}n${layer}`, values);
      keep(`h${tensor}${layer}`, highLimb(values, bits));
    }
  }
}

function highLimb(values: Float64Array, bits: number): Float64Array {
  const unit = 2 ** (bits - 15);
  return values.map((value) => Math.floor(value / unit));
}
