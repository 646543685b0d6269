/**
 * How long a run may take, by the size of what it trains: windows of the escrow are measured by it
 * (contracts/SPEC.md §19).
 */
import { isNet, type JobManifest } from './job-manifest.js';
import { netMultiplyAdds } from './net/work.js';
import { sizeOf } from './tensors.js';
import { parameterCount, tensorShapes } from './weights.js';

/**
 * Multiply-adds a second on one slow machine. Measured were 3·10^9 to 2·10^10 on one thread (libs/zk/SPEC.md §14, by
 * the engine's share), so that a tenth of the slowest is left for a busy host, a guest's cost and a wide model.
 */
export const slowMultiplyAdds = 250e6;

/** Forward, error back, gradient. */
const passes = 3;
/** What a net of fxt 2 computes beside its products: tables, roundings, its optimizer. Measured were 2 to 4. */
const netShare = 4;
/** What committing to one weight costs at a border: some microseconds at that speed. */
const commitMultiplyAdds = 1000;

/**
 * @param segments   borders that are committed to
 * @param multiplyAdds  a second
 * @returns seconds in which one machine trains the whole job, data-parallel or not
 */
export function trainingSeconds(m: JobManifest, segments: number, multiplyAdds: number = slowMultiplyAdds): number {
  const weights = parameterCount(m);
  const ofRecord = isNet(m) ? netShare * netMultiplyAdds(m) + weights / m.batch : weights;
  const training = m.steps * m.batch * passes * ofRecord;
  return Math.ceil((training + segments * commitMultiplyAdds * weights) / multiplyAdds);
}

/** Multiply-adds of one record's forward pass, which follow from the shapes alone. */
export function forwardMultiplyAdds(m: JobManifest): number {
  if (isNet(m)) return netMultiplyAdds(m);
  const matrices = tensorShapes(m).filter(({ dims }) => dims.length === 2);
  return matrices.reduce((sum, { dims }) => sum + sizeOf(dims), 0);
}
