/** Progress figures read off the loss gradient that the graph returns; outside the semantics (libs/step/SPEC.md §5). */
import { classCount, lossOf, type EdgeCounts, type Manifest } from '#libs/step';

export interface Metrics {
  /** Mean over the examples of what the loss reports. */
  readonly loss: number;
  /** Share of examples whose label has the largest output. */
  readonly accuracy: number;
  /** In the order of the layers; none where nothing was counted. */
  readonly edges: readonly EdgeCounts[];
}

/**
 * @param error  G_L of `blocks.length` steps, row-major [steps, B, C]
 * @param labels labels of all blocks, [blocks, B]
 */
export function chunkMetrics(m: Manifest, error: Float64Array, labels: Int32Array, blocks: Int32Array): Metrics {
  const [B, C, one] = [m.batch, classCount(m), 2 ** m.g.at(-1)!];
  const { figure } = lossOf(m);
  let loss = 0;
  let right = 0;
  for (let row = 0; row < blocks.length * B; row++) {
    const label = labels[blocks[Math.floor(row / B)]! * B + (row % B)]!;
    let largest = 0;
    let squares = 0;
    const ofLabel = error[row * C + label]! + one;
    for (let c = 0; c < C; c++) {
      const value = error[row * C + c]!;
      squares += value * value;
      const output = c === label ? ofLabel : value;
      if (c > 0 && output > (largest === label ? ofLabel : error[row * C + largest]!)) largest = c;
    }
    if (largest === label) right++;
    loss += figure(ofLabel, squares);
  }
  const rows = blocks.length * B;
  return { loss: loss / rows, accuracy: right / rows, edges: [countsOf(m, error)] };
}

/** Of the output's errors alone: a value beyond its range ends a run of `fxt/1`. */
function countsOf(m: Manifest, error: Float64Array): EdgeCounts {
  const zeroErrors = error.reduce((count, value) => (value === 0 ? count + 1 : count), 0);
  const none = { values: 0, saturatedValues: 0, saturatedErrors: 0 };
  return { edge: `Y${m.dims.length - 1}`, ...none, errors: error.length, zeroErrors };
}
