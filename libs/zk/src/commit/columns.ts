/**
 * The integers of the long-lived trees as padded columns: weights and the records of a superblock
 * (libs/zk/SPEC.md §4.1).
 */
import type { Examples, Weights } from '#libs/step';
import type { Shape } from './layout/shape.js';

/** Blocks by name; integers. */
export type Columns = Map<string, Float64Array>;

/** Zeros, where the columns are to be. */
type Doubles = (count: number) => Float64Array;
const ofTheirOwn: Doubles = (count) => new Float64Array(count);

/** Samples beyond the batch repeat its first ones: then they meet every guard that the batch meets. */
export function dataColumns(shape: Shape, examples: Examples, doubles = ofTheirOwn): Columns {
  const { manifest, widthVars, classes } = shape;
  const [T, n0, D0] = [manifest.superblock, manifest.dims[0]!, 2 ** widthVars[0]!];
  const B = 2 ** shape.batchVars;
  const X = doubles(T * D0 * B);
  const Y = doubles(2 ** widthVars.at(-1)! * T * B);
  for (let t = 0; t < T; t++) {
    for (let b = 0; b < B; b++) {
      const record = t * shape.batch + (b % shape.batch);
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

export function paddedWeights(shape: Shape, weights: Weights, doubles = ofTheirOwn): Columns {
  return new Map(
    weights.map(({ name, dims, values }) => {
      const layer = Number(name.slice(1));
      const width = 2 ** shape.widthVars[layer]!;
      const rows = dims.length === 2 ? 2 ** shape.widthVars[layer - 1]! : 1;
      const columns = dims.at(-1)!;
      const out = doubles(rows * width);
      for (let k = 0; k < values.length; k++) {
        out[Math.floor(k / columns) * width + (k % columns)] = Number(values[k]!);
      }
      return [name, out];
    }),
  );
}
