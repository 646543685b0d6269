/** How often each table entry is looked up (libs/zk/SPEC.md §4.1 `mR mA mE`, §4.3). */
import type { Columns } from '../commit/columns.js';
import type { Shape } from '../commit/layout/shape.js';
import type { Backend, SumTerm } from './backend.js';
import type { SegmentWitness } from './execute.js';

const tableSize = 2 ** 16;

/** Counts; a value outside its table is not counted, and the proof will then be rejected. */
export function countLookups(backend: Backend, shape: Shape, segment: SegmentWitness): Columns {
  const mR = backend.doubles(tableSize);
  const mA = backend.doubles(tableSize);
  const mE = new Float64Array(2 ** shape.expVars);
  hiddenLookups(backend, shape, segment, mR, mA);
  logitLookups(shape, segment, mR);
  if (shape.loss === 'mse') errorLookups(shape, segment, mR);
  else {
    softmaxLookups(shape, segment, mR, mE);
    rowLookups(shape, segment, mR);
  }
  borderLookups(backend, shape, segment, mR);
  return new Map(Object.entries(shape.loss === 'mse' ? { mR, mA } : { mR, mA, mE }));
}

function count(table: Float64Array, index: number): void {
  const entry = index | 0;
  if (entry === index && entry >= 0 && entry < table.length) table[entry]! += 1;
}

function hiddenLookups(
  backend: Backend,
  shape: Shape,
  { witness, virtual }: SegmentWitness,
  mR: Float64Array,
  mA: Float64Array,
): void {
  const { unscaled, errorBits } = shape;
  for (const { layer, forwardShift: s } of shape.layers.slice(0, -1)) {
    const term = (name: string, coefficient = 1): SumTerm => {
      return { coefficient, column: (witness.get(`${name}${layer}`) ?? virtual.get(`${name}${layer}`))! };
    };
    const range = (terms: readonly SumTerm[], constant = 0): void => backend.countSums(mR, terms, constant);
    const unit = 2 ** s;
    backend.countSums(mA, [term('Z', 1 / unit), term('l', -1 / unit), term('h', -(2 ** -16))], 0.5 + 2 ** 15);
    range([term('l', 2 ** (32 - s))]);
    range([term('h')]);
    range([term('G')], 2 ** 15);
    const backward = shape.layers[layer]!.backwardShift!;
    const low = (scale: number): void =>
      range(
        [term('MH', scale), term('G', -scale * 2 ** backward), term('hp', -scale * 2 ** (backward - 16))],
        scale * 2 ** (backward - 1),
      );
    low(2 ** (32 - backward));
    if (unscaled[layer - 1]!.forward) range([term('l')]);
    if (unscaled[layer]!.backward) low(1);
    if (errorBits < 16) range([term('G', 2 ** (16 - errorBits))], 2 ** 15);
    range([term('hp')]);
  }
}

/** An error of less than 16 bits as the second of its lookups has it. */
function narrow(bits: number, error: number): number {
  return 2 ** (16 - bits) * (error + 2 ** (bits - 1));
}

/** Y_L for every class, step and sample. */
function logits(shape: Shape, { witness }: SegmentWitness): (i: number) => number {
  if (shape.loss === 'mse') {
    const YL = witness.get('YL')!;
    return (i) => YL[i]!;
  }
  const [mu, d] = [witness.get('mu')!, witness.get('d')!];
  return (i) => mu[i % mu.length]! - d[i]!;
}

function logitCount(shape: Shape): number {
  return shape.classes * 2 ** (shape.stepVars + shape.batchVars);
}

function logitLookups(shape: Shape, segment: SegmentWitness, mR: Float64Array): void {
  const s = shape.layers.at(-1)!.forwardShift;
  const [hL, Z] = [segment.witness.get('hL')!, segment.virtual.get('ZL')!];
  const logit = logits(shape, segment);
  const isUnscaled = shape.unscaled.at(-1)!.forward;
  const [unit, limb, scale, end] = [2 ** s, 2 ** (s - 16), 2 ** (32 - s), logitCount(shape)];
  for (let i = 0; i < end; i++) {
    const value = logit(i);
    const low = Z[i]! + unit / 2 - unit * value - limb * hL[i]!;
    count(mR, value + 2 ** 15);
    count(mR, scale * low);
    count(mR, hL[i]!);
    if (isUnscaled) count(mR, low);
  }
}

function softmaxLookups(
  shape: Shape,
  { witness, virtual, data }: SegmentWitness,
  mR: Float64Array,
  mE: Float64Array,
): void {
  const { expVars, lossFraction } = shape;
  const [d, GL, w] = (['d', 'GL', 'w'] as const).map((name) => witness.get(name)!);
  const [E, Y] = [virtual.get('E')!, data.get('Y')!];
  const [end, tableEnd, whole] = [logitCount(shape), 2 ** expVars, 2 ** lossFraction];
  for (let i = 0; i < end; i++) {
    if (w![i] === 1) count(mE, d![i]!);
    else count(mR, d![i]! - tableEnd);
    const p = GL![i]! + whole * Y[i]!;
    count(mR, E[i]! + 2 ** 15 - 2 ** 16 * p);
    count(mR, p);
  }
}

function errorLookups(shape: Shape, segment: SegmentWitness, mR: Float64Array): void {
  const { roundingShift: drop, lossFraction, errorBits } = shape;
  const [GL, Y] = [segment.witness.get('GL')!, segment.data.get('Y')!];
  const logit = logits(shape, segment);
  for (let i = 0; i < logitCount(shape); i++) {
    count(mR, GL[i]! + 2 ** 15);
    if (errorBits < 16) count(mR, narrow(errorBits, GL[i]!));
    if (drop > 0) {
      const rest = logit(i) + 2 ** (drop - 1) - 2 ** drop * (GL[i]! + 2 ** lossFraction * Y[i]!);
      count(mR, 2 ** (16 - drop) * rest);
    }
  }
}

function rowLookups(shape: Shape, { witness, virtual }: SegmentWitness, mR: Float64Array): void {
  const [iota, S, Q] = [witness.get('iota')!, virtual.get('S')!, virtual.get('Q')!];
  for (let i = 0; i < iota.length; i++) {
    const remainder = 2 ** shape.reciprocalBits - Q[i]!;
    count(mR, iota[i]! - 1);
    count(mR, remainder);
    count(mR, S[i]! - 1 - remainder);
  }
}

function borderLookups(backend: Backend, shape: Shape, { witness, after }: SegmentWitness, mR: Float64Array): void {
  for (const { layer, weightBits, biasBits } of shape.layers) {
    const { weight, bias } = shape.unscaled[layer - 1]!;
    for (const [name, limb, bits, isUnscaled] of [
      [`W${layer}`, `hW${layer}`, weightBits, weight],
      [`b${layer}`, `hb${layer}`, biasBits, bias],
    ] as const) {
      const [values, high] = [after.get(name)!, witness.get(limb)!];
      const low = (scale: number): void =>
        backend.countSums(
          mR,
          [
            { coefficient: scale, column: values },
            { coefficient: -scale * 2 ** (bits - 15), column: high },
          ],
          0,
        );
      low(2 ** (31 - bits));
      backend.countSums(mR, [{ coefficient: 1, column: high }], 2 ** 15);
      if (isUnscaled) low(1);
    }
  }
}
