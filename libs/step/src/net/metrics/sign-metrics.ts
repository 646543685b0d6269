/** Metrics of targets of 0 or 1, which an output meets by its sign (libs/step/SPEC.md §29). */
import { summing, type Metrics } from './meter.js';

/** @param targets of one record */
export function signMetrics(targets: number): Metrics {
  return {
    'exact-match': summing((outputs, labels) => {
      const rows = labels.length / targets;
      let right = 0;
      for (let row = 0; row < rows; row++) {
        if (met(outputs, labels, row * targets, (row + 1) * targets) === targets) right++;
      }
      return [right, rows];
    }),
    'label-accuracy': summing((outputs, labels) => [met(outputs, labels, 0, labels.length), labels.length]),
  };
}

/** Places from … to with `Y > 0` exactly where the target is 1. */
function met(outputs: ArrayLike<number>, labels: ArrayLike<number>, from: number, to: number): number {
  let count = 0;
  for (let i = from; i < to; i++) if (outputs[i]! > 0 === (labels[i] === 1)) count++;
  return count;
}
