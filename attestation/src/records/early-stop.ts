/** The public rule by which a job stops early: whoever has the signed numerators comes to the same end. */
import { metricKinds, type Metric } from './evaluation.js';

export interface StopRule {
  readonly metric: Metric;
  /** Evaluations in a row without an improvement that end the job. */
  readonly patience: number;
  /** Least improvement that counts, in units of the numerator; less than 1 counts as 1. */
  readonly minimum: number;
}

interface Standing {
  /** Index of the best evaluation so far, of equal ones the earliest. */
  readonly best: number;
  /** The best of the last `patience` evaluations is not `minimum` better than the best before them. */
  readonly isOver: boolean;
}

/** @param numerators of the rule's metric, evaluation by evaluation @returns how things stand after each of them */
export function standingsOf(rule: StopRule, numerators: readonly bigint[]): readonly Standing[] {
  const sign = metricKinds[rule.metric] === 'higher' ? 1n : -1n;
  const least = BigInt(Math.max(rule.minimum, 1));
  const standings: Standing[] = [];
  for (const [index, numerator] of numerators.entries()) {
    const former = standings[index - 1]?.best ?? index;
    const best = sign * (numerator - numerators[former]!) > 0n ? index : former;
    const before = standings[index - rule.patience]?.best;
    const isOver = before !== undefined && sign * (numerators[best]! - numerators[before]!) < least;
    standings.push({ best, isOver });
  }
  return standings;
}
