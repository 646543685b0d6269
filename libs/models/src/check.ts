/** Compares a file with the net that was made of it, on records that are drawn. */
import { sizeOf } from './onnx/constant.js';
import type { ImportedModel } from './onnx/import.js';
import { ended } from './onnx/ops/index.js';

interface CheckedRun {
  /** Integer features or tokens of record `k`, in the net's order. */
  record(k: number): Int32Array;
  /** Fraction of the features; 0 for tokens. */
  readonly fraction: number;
  /** The file's output for one batch of its input, float32 by another runtime. */
  file(input: Float64Array, dims: readonly number[]): Promise<ArrayLike<number>>;
  /** The net's output for one record, as real numbers in the net's order. */
  net(record: Int32Array): Promise<ArrayLike<number>>;
}

interface CheckResult {
  readonly records: number;
  /** Largest difference of an output, and the largest output of the file. */
  readonly largestDifference: number;
  readonly largestOutput: number;
}

const recordsChecked = 16;

/** What stands at the end of the file is done to the net's outputs too. */
export async function importCheck(model: ImportedModel, run: CheckedRun): Promise<CheckResult> {
  const { input, output, end } = model;
  const batch = Math.max(1, input.dims[0]!);
  const classes = output.shape.at(-1) ?? 1;
  let [largestDifference, largestOutput] = [0, 0];
  for (let k = 0; k < recordsChecked; k++) {
    const record = run.record(k);
    const real = Float64Array.from(record, (value) => value * 2 ** -run.fraction);
    const ordered = input.order === undefined ? real : Float64Array.from(input.order, (place) => real[place]!);
    const fed = new Float64Array(batch * ordered.length);
    for (let row = 0; row < batch; row++) fed.set(ordered, row * ordered.length);
    const wanted = await run.file(fed, [batch, ...input.dims.slice(1)]);
    const found = Array.from(await run.net(record));
    const rows =
      end === undefined
        ? found
        : Array.from({ length: found.length / classes }, (_, row) =>
            ended(end, found.slice(row * classes, (row + 1) * classes)),
          ).flat();
    for (let i = 0; i < sizeOf(output.shape); i++) {
      const difference = Math.abs(wanted[i]! - rows[output.order?.[i] ?? i]!);
      largestDifference = Math.max(largestDifference, Number.isNaN(difference) ? Infinity : difference);
      largestOutput = Math.max(largestOutput, Math.abs(wanted[i]!));
    }
  }
  return { records: recordsChecked, largestDifference, largestOutput };
}
