/** How often each table entry is looked up (libs/zk/SPEC.md §4.1 `mR mA mE`, §4.3). */
import type { Columns } from '../commit/columns.js';
import type { Shape } from '../commit/layout/shape.js';
import type { Backend, SumTerm } from './backend.js';
import { executedHeads } from './heads.js';
import { count, logitCount } from './losses/loss.js';
import type { SegmentWitness } from './step-state.js';

const tableSize = 2 ** 16;

/** Counts; a value outside its table is not counted, and the proof will then be rejected. */
export function countLookups(backend: Backend, shape: Shape, segment: SegmentWitness): Columns {
  const mR = backend.doubles(tableSize);
  const mA = backend.doubles(tableSize);
  hiddenLookups(backend, shape, segment, mR, mA);
  logitLookups(shape, segment, mR);
  const ofLoss = executedHeads[shape.loss].countLookups(shape, segment, mR);
  if (!shape.isForward) borderLookups(backend, shape, segment, mR);
  return new Map([['mR', mR], ['mA', mA], ...ofLoss]);
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
    if (unscaled[layer - 1]!.forward) range([term('l')]);
    if (shape.isForward) continue;
    range([term('G')], 2 ** 15);
    const backward = shape.layers[layer]!.backwardShift!;
    const low = (scale: number): void =>
      range(
        [term('MH', scale), term('G', -scale * 2 ** backward), term('hp', -scale * 2 ** (backward - 16))],
        scale * 2 ** (backward - 1),
      );
    low(2 ** (32 - backward));
    if (unscaled[layer]!.backward) low(1);
    if (errorBits < 16) range([term('G', 2 ** (16 - errorBits))], 2 ** 15);
    range([term('hp')]);
  }
}

function logitLookups(shape: Shape, segment: SegmentWitness, mR: Float64Array): void {
  const s = shape.layers.at(-1)!.forwardShift;
  const [hL, Z] = [segment.witness.get('hL')!, segment.virtual.get('ZL')!];
  const logit = executedHeads[shape.loss].logit(segment.witness);
  const isUnscaled = shape.unscaled.at(-1)!.forward;
  const [unit, limb, scale, end] = [2 ** s, 2 ** (s - 16), 2 ** (32 - s), logitCount(shape)];
  for (let i = 0; i < end; i++) {
    const value = logit(i);
    const low = Z[i]! + unit / 2 - unit * value - limb * hL[i]!;
    if (!shape.isForward) count(mR, value + 2 ** 15);
    count(mR, scale * low);
    count(mR, hL[i]!);
    if (isUnscaled) count(mR, low);
  }
}

function borderLookups(backend: Backend, shape: Shape, { witness, after }: SegmentWitness, mR: Float64Array): void {
  for (const { layer, weightBits, biasBits } of shape.layers) {
    const { weight, bias } = shape.unscaled[layer - 1]!;
    for (const [name, ends, limb, bits, isUnscaled] of [
      [`W${layer}`, `Wn${layer}`, `hW${layer}`, weightBits, weight],
      [`b${layer}`, `bn${layer}`, `hb${layer}`, biasBits, bias],
    ] as const) {
      const [values, high] = [witness.get(ends) ?? after.get(name)!, witness.get(limb)!];
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
