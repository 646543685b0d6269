/**
 * Area under the ROC curve (libs/step/SPEC.md §29): over all pairs of a positive and a negative row 2 where the positive
 * one's score is higher, 1 where both are equal, of 2·P·N. Rows are counted by score, of which there are at most 2^17.
 */
import type { Fraction, Meter, Metrics } from './meter.js';

/** @param outputs of a row: 1, the score itself; 2, of which the second less the first is the score */
export function aucMetric(outputs: 1 | 2): Metrics {
  return { auc: () => new Auc(outputs) };
}

class Auc implements Meter {
  /** Rows by score: of label 0, and of label 1. */
  readonly #rows = new Map<number, [negatives: number, positives: number]>();

  constructor(private readonly outputs: 1 | 2) {}

  add(outputs: ArrayLike<number>, labels: ArrayLike<number>): void {
    for (let row = 0; row < labels.length; row++) {
      const label = labels[row]!;
      if (label < 0) continue;
      const score = this.outputs === 1 ? outputs[row]! : outputs[2 * row + 1]! - outputs[2 * row]!;
      const counts = this.#rows.get(score) ?? [0, 0];
      counts[label === 1 ? 1 : 0]++;
      this.#rows.set(score, counts);
    }
  }

  result(): Fraction {
    let [numerator, below, positives] = [0n, 0n, 0n];
    for (const [, counts] of [...this.#rows].sort(([left], [right]) => left - right)) {
      const [n, p] = counts.map(BigInt) as [bigint, bigint];
      numerator += p * (2n * below + n);
      below += n;
      positives += p;
    }
    return { numerator, denominator: 2n * positives * below };
  }
}
