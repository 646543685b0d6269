/** Sums and products of an edge with constants: collected, to become part of a layer. */
import { cannot } from '../errors.js';
import { broadcast } from './ops/arithmetic.js';
import { sizeOf, type Constant } from './constant.js';
import type { Affine, Value } from './draft.js';
import { dimsOf, isWhole, placesOf } from './view.js';

/** `scale·value + shift` with constants that broadcast to the tensor. */
export function affineOf(value: Value, scale: Constant | number, shift: Constant | number): Value {
  const { edge, view } = value;
  if (!isWhole(view, edge.shape)) cannot('a part of a tensor', 'the whole');
  const size = sizeOf(edge.shape);
  const places = placesOf(view);
  const spread = (given: Constant | number): Float64Array => {
    if (typeof given === 'number') return new Float64Array(size).fill(given);
    const dims = dimsOf(view);
    const lead = given.dims.length - dims.length;
    if (given.dims.some((own, k) => own !== 1 && own !== dims[k - lead]))
      cannot(`constants [${given.dims.join()}] for [${dims.join()}]`, 'constants that broadcast to it');
    const flat = { ...given, dims: lead > 0 ? given.dims.slice(lead) : given.dims };
    const all = broadcast(flat, dims);
    const out = new Float64Array(size).fill(NaN);
    places.forEach((place, i) => {
      if (!Number.isFinite(all[i])) cannot('a constant that is no number', 'finite constants');
      if (!Number.isNaN(out[place]) && out[place] !== all[i])
        cannot('constants that differ within a batch', 'the same for every record');
      out[place] = all[i]!;
    });
    return out;
  };
  const [factor, addend] = [spread(scale), spread(shift)];
  const before = value.affine;
  const affine: Affine = {
    scale: before ? before.scale.map((old, i) => old * factor[i]!) : factor,
    shift: before ? before.shift.map((old, i) => old * factor[i]! + addend[i]!) : addend,
  };
  return { edge, view, affine };
}

/** The one factor that a tensor is scaled by, nothing being added; undefined for anything else. */
export function uniformScale({ affine }: Value): number | undefined {
  if (affine === undefined) return 1;
  const [first] = affine.scale;
  return affine.scale.every((value) => value === first) && affine.shift.every((value) => value === 0)
    ? first
    : undefined;
}
