/** Metrics as they are shown, from the exact net's counts and from the real outputs of its twin. */
import { netOf } from '#libs/step';
import type { MetricName, Part } from './task.js';

/** Counts of one part that parts of one task may be added by. */
export interface Count {
  readonly sum: number;
  readonly of: number;
}

/** @param numerator and denominator of the exact metric */
export function exactCount(metric: MetricName, part: Part, numerator: number, denominator: number): Count {
  if (metric === 'perplexity') return { sum: numerator * 2 ** -16, of: denominator };
  if (metric !== 'rmse') return { sum: numerator, of: denominator };
  return { sum: numerator * (part.unit! * 2 ** -netOf(part.manifest).output.a) ** 2, of: denominator };
}

/** @param outputs real, row-major */
export function floatCount(
  metric: MetricName,
  { manifest, test: { labels }, unit }: Part,
  outputs: Float32Array,
): Count {
  const { output } = netOf(manifest);
  if (metric === 'label-accuracy') return counted(labels, (label, i) => Number(outputs[i]! > 0 === (label === 1)));
  if (metric === 'rmse') {
    return counted(labels, (label, i) => ((outputs[i]! - label * 2 ** -output.a) * unit!) ** 2);
  }
  const width = output.shape.at(-1)!;
  const row = (i: number) => outputs.subarray(i * width, (i + 1) * width);
  if (metric === 'accuracy')
    return counted(labels, (label, i) => Number(row(i).indexOf(Math.max(...row(i))) === label));
  return counted(labels, (label, i) => crossEntropy(row(i), label));
}

/** Accuracies in per cent. */
export function shown(metric: MetricName, counts: readonly Count[]): number {
  const [sum, of] = [counts.reduce((all, one) => all + one.sum, 0), counts.reduce((all, one) => all + one.of, 0)];
  if (metric === 'perplexity') return Math.exp(sum / of);
  return metric === 'rmse' ? Math.sqrt(sum / of) : (100 * sum) / of;
}

function counted(labels: Int32Array, valueOf: (label: number, i: number) => number): Count {
  let sum = 0;
  labels.forEach((label, i) => (sum += valueOf(label, i)));
  return { sum, of: labels.length };
}

function crossEntropy(scores: Float32Array, label: number): number {
  const largest = Math.max(...scores);
  return Math.log(scores.reduce((sum, score) => sum + Math.exp(score - largest), 0)) + largest - scores[label]!;
}
