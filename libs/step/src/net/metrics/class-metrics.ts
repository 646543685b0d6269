/** Metrics of rows that each have a class (libs/step/SPEC.md §29); a row of class −1 counts in neither part. */
import { expTable } from '../../table.js';
import { aucMetric } from './auc.js';
import { logarithm } from './logarithm.js';
import { summing, type Metrics } from './meter.js';

interface ClassScores {
  /** Scores of a row. */
  readonly classes: number;
  /** Fraction of the scores, 0 … 24. */
  readonly a: number;
  /** Fraction of the exponentials' table. */
  readonly E: number;
}

/** `accuracy`, `loss`, and `auc` of two classes. */
export function classMetrics(scores: ClassScores): Metrics {
  const { classes } = scores;
  return {
    accuracy: summing((outputs, labels) => {
      let [right, rows] = [0, 0];
      for (let row = 0; row < labels.length; row++) {
        if (labels[row]! < 0) continue;
        rows++;
        if (largestAt(outputs, row * classes, classes) === labels[row]) right++;
      }
      return [right, rows];
    }),
    loss: summing((outputs, labels) => {
      let [sum, rows] = [0n, 0];
      for (let row = 0; row < labels.length; row++) {
        if (labels[row]! < 0) continue;
        rows++;
        sum += BigInt(rowLoss(scores, outputs, row * classes, labels[row]!));
      }
      return [sum, rows];
    }),
    ...(classes === 2 && aucMetric(2)),
  };
}

/** Place of the largest of `count` values from `first` on, of equal ones the first. */
function largestAt(values: ArrayLike<number>, first: number, count: number): number {
  let best = 0;
  for (let i = 1; i < count; i++) if (values[first + i]! > values[first + best]!) best = i;
  return best;
}

/** `(μ − Y_label)·2^(16−a) + LN(Σ ε) − E·LN(2)`, fraction 16; `RS(μ − Y_label, a − 16)` where a > 16. */
function rowLoss({ classes, a, E }: ClassScores, Y: ArrayLike<number>, first: number, label: number): number {
  const table = expTable(E, a);
  const largest = Y[first + largestAt(Y, first, classes)]!;
  let sum = 0;
  for (let i = 0; i < classes; i++) sum += table[largest - Y[first + i]!]!;
  return Math.floor((largest - Y[first + label]!) * 2 ** (16 - a) + 0.5) + logarithm(sum) - logarithm(2 ** E);
}
