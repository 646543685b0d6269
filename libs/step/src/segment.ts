/** One segment of a job that can be proved, by the oracle: it fails exactly where the segment has no witness. */
import { featureCount, type Manifest } from './manifest.js';
import type { Examples } from './records.js';
import { stepReference } from './reference.js';
import type { Weights } from './tensors.js';

/**
 * T steps, null steps behind the job's last one included: those move nothing, and their guards count
 * (libs/zk/SPEC.md §2.2).
 *
 * @param examples records of the segment's superblock
 * @returns weights after the segment
 * @throws GuardViolation GUARD_VIOLATION: no proof of the segment exists; Rejection WEIGHTS_*, BATCH_SIZE
 */
export function segmentReference(m: Manifest, start: Weights, examples: Examples, index: number): Weights {
  const { batch, superblock } = m;
  const width = featureCount(m);
  let weights = start;
  for (let t = 0; t < superblock; t++) {
    const features = examples.features.subarray(t * batch * width, (t + 1) * batch * width);
    const labels = examples.labels.subarray(t * batch, (t + 1) * batch);
    const block = { count: labels.length, features, labels };
    weights = stepReference(m, weights, block, index * superblock + t, 'proved').weights;
  }
  return weights;
}
