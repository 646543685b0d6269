/**
 * Exact steps without a proof: the witness executor over the columns of one step, again and again
 * (libs/step/SPEC.md §4, §5, §7). Brings weights to the start of a segment.
 */
import { guardTable, stepSize, type Examples, type Manifest, type Weights } from '#libs/step';
import { paddedWeights, recordColumns, writeRecords } from '../commit/columns.js';
import { stepShape } from '../commit/layout/shape.js';
import type { Backend } from './backend.js';
import { runStep, weightsAfter } from './execute.js';
import type { SegmentWitness } from './step-state.js';

interface ExactTrainer {
  /**
   * Trains step `step` on one block of B records; a null step behind the job's last moves nothing.
   *
   * @throws GuardViolation GUARD_VIOLATION: the step's segment has no witness, so no proof of it exists
   */
  train(step: number, block: Examples): void;
  weights(): Weights;
}

/** @throws ConfigurationError ZK_MEMORY_EXCEEDED */
export function createExactTrainer(
  backend: Backend,
  manifest: Manifest,
  start: Weights,
  guards = guardTable(manifest, 'proved'),
): ExactTrainer {
  const shape = stepShape(manifest);
  const resident = (count: number): Float64Array => backend.doubles(count);
  const columns: SegmentWitness = {
    ...{ witness: new Map(), virtual: new Map(), before: new Map() },
    data: recordColumns(shape, resident),
    after: paddedWeights(shape, start, resident),
  };
  return {
    train(step, block) {
      writeRecords(shape, columns.data, block);
      const at = { t: 0, step, size: stepSize(manifest, step), isAtBorder: step % manifest.superblock === 0 };
      runStep({ backend, shape, columns, guards, ...at, isWitness: false });
    },
    weights: () => weightsAfter(shape, columns),
  };
}
