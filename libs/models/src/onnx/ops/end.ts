/** What may stand at the end of a file beyond the layers, because the loss does it in training. */
import { logistic } from './arithmetic.js';

export type End = 'LogSoftmax' | 'Sigmoid' | 'Softmax';

/** Losses that have what stands at the end. */
export const lossOf: Readonly<Record<End, string>> = {
  LogSoftmax: 'softmax-ce',
  Sigmoid: 'sigmoid-bce',
  Softmax: 'softmax-ce',
};

/** A flag is set above it. */
export function flagFrom(end: End): number {
  return end === 'Sigmoid' ? 0.5 : 0;
}

/** What stands at the end of a file, on one row of outputs. */
export function ended(end: End, row: readonly number[]): readonly number[] {
  if (end === 'Sigmoid') return row.map(logistic);
  const highest = Math.max(...row);
  const sum = row.reduce((total, value) => total + Math.exp(value - highest), 0);
  const logs = row.map((value) => value - highest - Math.log(sum));
  return end === 'LogSoftmax' ? logs : logs.map(Math.exp);
}
