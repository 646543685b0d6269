/** Real parameters as the integers of fxt/2 (libs/models/README.md): `W = floor(v·2^w + 1/2)`. */
import { refuse } from './errors.js';
import { wintMax } from './limits.js';
import type { RealParameter } from './onnx/import.js';

interface MasterTensor {
  readonly name: string;
  readonly dims: readonly number[];
  readonly values: BigInt64Array;
}

interface Quantised {
  readonly tensors: readonly MasterTensor[];
  /** Integer bits by layer, where a weight needs more than the manifest's `wint`. */
  readonly wint: ReadonlyMap<string, number>;
}

interface QuantiseOptions {
  /** Fraction of a parameter's master. */
  fractionOf(name: string): number;
  /** Integer bits of the manifest. */
  readonly wint: number;
  /** Factor by which a weight may grow in training; 1 by default. Where 8 integer bits are too few for it, it is less. */
  readonly room?: number;
  /** What to do about a weight of a layer that is `factor`, a power of two, too large. */
  advice?(layer: string, factor: number): string;
}

/** @throws Rejection MODEL_WEIGHT_NUMBER for what is no finite number, MODEL_WEIGHT_RANGE for what needs more than 8 integer bits */
export function quantise(
  parameters: readonly RealParameter[],
  { fractionOf, wint, room = 1, advice }: QuantiseOptions,
): Quantised {
  const raised = new Map<string, number>();
  const tensors = parameters.map(({ name, layer, dims, values }): MasterTensor => {
    const fraction = fractionOf(name);
    const integers = new BigInt64Array(values.length);
    let [largest, place] = [0, 0];
    values.forEach((value, i) => {
      if (!Number.isFinite(value)) refuse('MODEL_WEIGHT_NUMBER', `finite numbers in ${name}`, `${value} at place ${i}`);
      const scaled = Math.floor(value * 2 ** fraction + 0.5);
      if (Math.abs(scaled) > largest) [largest, place] = [Math.abs(scaled), i];
      if (Math.abs(scaled) < 2 ** 62) integers[i] = BigInt(scaled);
    });
    if (bitsFor(largest, fraction) > wintMax) {
      const size = largest / 2 ** fraction;
      const factor = 2 ** Math.ceil(Math.log2((size + 1) / 2 ** wintMax));
      const got = `${values[place]} at [${placeOf(place, dims).join()}]`;
      refuse('MODEL_WEIGHT_RANGE', `values of ${name} below 2^${wintMax}`, got, advice?.(layer, factor));
    }
    const bits = Math.min(wintMax, bitsFor(largest * room, fraction));
    if (bits > (raised.get(layer) ?? wint)) raised.set(layer, bits);
    return { name, dims, values: integers };
  });
  return { tensors, wint: raised };
}

function placeOf(index: number, dims: readonly number[]): readonly number[] {
  let rest = index;
  const places = dims.toReversed().map((size) => {
    const place = rest % size;
    rest = (rest - place) / size;
    return place;
  });
  return places.toReversed();
}

/** The least `wint` with `magnitude ≤ 2^(fraction + wint) − 1`, or more than may be asked for. */
function bitsFor(magnitude: number, fraction: number): number {
  let bits = 0;
  while (bits <= wintMax && magnitude > 2 ** (fraction + bits) - 1) bits++;
  return bits;
}
