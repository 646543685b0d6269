/**
 * How long a run may take, by the size of what it trains: windows of the escrow are measured by it
 * (contracts/SPEC.md §19).
 */
import type { Manifest } from './manifest.js';
import { parameterCount } from './weights.js';

/**
 * Multiply-adds a second on one slow machine. Measured were 3·10^9 to 2·10^10 on one thread (libs/zk/SPEC.md §14, by
 * the engine's share), so that a tenth of the slowest is left for a busy host, a guest's cost and a wide model.
 */
export const slowMultiplyAdds = 250e6;

/** Forward, error back, gradient. */
const passes = 3;
/** What committing to one weight costs at a border: some microseconds at that speed. */
const commitMultiplyAdds = 1000;

/**
 * @param segments   borders that are committed to
 * @param multiplyAdds  a second
 * @returns seconds in which one machine trains the whole job, data-parallel or not
 */
export function trainingSeconds(m: Manifest, segments: number, multiplyAdds: number = slowMultiplyAdds): number {
  const weights = parameterCount(m);
  const training = m.steps * m.batch * passes * weights;
  return Math.ceil((training + segments * commitMultiplyAdds * weights) / multiplyAdds);
}
