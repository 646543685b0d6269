/**
 * The integers of the long-lived trees as padded columns: weights and the records of a superblock
 * (libs/zk/SPEC.md §4.1).
 */
import { featureCount, tensorShapes, type Examples, type Weights } from '#libs/step';
import type { StepShape } from './layout/shape.js';

/** Blocks by name; integers. */
export type Columns = Map<string, Float64Array>;

/** Zeros, where the columns are to be. */
type Doubles = (count: number) => Float64Array;
const ofTheirOwn: Doubles = (count) => new Float64Array(count);

/** The records as they are committed: of the steps in order, or of a whole set, whose last steps may be empty. */
export function dataColumns(shape: StepShape, examples: Examples, doubles = ofTheirOwn): Columns {
  const columns = recordColumns(shape, doubles);
  writeRecords(shape, columns, examples);
  return columns;
}

/** Room for records. */
export function recordColumns({ steps, widths, samples }: StepShape, doubles: Doubles): Columns {
  return new Map([
    ['X', doubles(steps * widths[0]! * samples)],
    ['Y', doubles(widths.at(-1)! * steps * samples)],
  ]);
}

/** Writes X and Y. Samples beyond the batch repeat its first ones: then they meet every guard that the batch meets. */
export function writeRecords(shape: StepShape, columns: Columns, examples: Examples): void {
  writeFeatures(shape, columns.get('X')!, examples);
  writeLabels(shape, columns.get('Y')!, examples);
}

export function writeFeatures(shape: StepShape, X: Float64Array, { count, features }: Examples): void {
  const { steps, widths, samples, batch, inputsFirst } = shape;
  const [ofStep, ofInput] = inputsFirst ? [samples, steps * samples] : [widths[0]! * samples, samples];
  const n0 = featureCount(shape.manifest);
  for (let t = 0; t < Math.min(steps, Math.floor(count / batch)); t++) {
    for (let i = 0; i < n0; i++) {
      const [to, from] = [t * ofStep + i * ofInput, t * batch * n0 + i];
      for (let b = 0; b < samples; b++) X[to + b] = features[from + (b % batch) * n0]!;
    }
  }
}

export function writeLabels(shape: StepShape, Y: Float64Array, { count, labels }: Examples): void {
  const { steps, samples, batch, classes } = shape;
  Y.fill(0);
  for (let t = 0; t < Math.min(steps, Math.floor(count / batch)); t++) {
    for (let b = 0; b < samples; b++) {
      const label = labels[t * batch + (b % batch)]!;
      if (label < classes) Y[(label * steps + t) * samples + b] = 1;
    }
  }
}

/** Superblocks of so many records each, in another order, and as often as they are named. */
export function inSuperblocks(
  { features, labels }: Examples,
  superblocks: readonly number[],
  records: number,
): Examples {
  const pick = (values: Uint8Array, size: number): Uint8Array => {
    const out = new Uint8Array(superblocks.length * size);
    superblocks.forEach((index, k) => out.set(values.subarray(index * size, (index + 1) * size), k * size));
    return out;
  };
  const width = features.length / labels.length;
  return {
    count: superblocks.length * records,
    features: pick(features, records * width),
    labels: pick(labels, records),
  };
}

export function paddedWeights({ manifest, widths }: StepShape, weights: Weights, doubles = ofTheirOwn): Columns {
  return new Map(
    tensorShapes(manifest).map(({ name, dims, role: { layer, kind } }, k) => {
      const [width, columns] = [widths[layer]!, dims.at(-1)!];
      const out = doubles((kind === 'weight' ? widths[layer - 1]! : 1) * width);
      weights[k]!.values.forEach((value, i) => {
        out[Math.floor(i / columns) * width + (i % columns)] = Number(value);
      });
      return [name, out];
    }),
  );
}

/** Inverse of `paddedWeights`. */
export function unpaddedWeights({ manifest, widths }: StepShape, columns: Columns): Weights {
  return tensorShapes(manifest).map(({ name, dims, role: { layer } }) => {
    const [padded, width, count] = [columns.get(name)!, widths[layer]!, dims.at(-1)!];
    const values = new BigInt64Array(dims.reduce((product, size) => product * size, 1));
    for (let i = 0; i < values.length; i++) values[i] = BigInt(padded[Math.floor(i / count) * width + (i % count)]!);
    return { name, dims, values };
  });
}
