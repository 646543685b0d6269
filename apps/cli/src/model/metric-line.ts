/** A metric as a line of a table: its value, and the exact counts behind it. */
import { figure } from './figure.js';

interface Exact {
  readonly metric: string;
  readonly name: string;
  readonly numerator: string;
  readonly denominator: string;
  /** What 1 of the numerator is. */
  readonly scale: number;
  /** Of the value, where it is not the label's own. */
  readonly unit?: string;
}

interface Shown extends Exact {
  readonly value: number;
}

export function metricLine(shown: Shown): readonly [string, string] {
  return [shown.name, `${figure(shown.value)}  (${exactWords(shown)})`];
}

/** What a value follows from: a share is told as the fraction that it is. */
export function exactWords({ metric, name, numerator, denominator, scale, unit }: Exact): string {
  const counts = `${numerator}/${denominator}`;
  if (scale === 1 && name === metric) return counts;
  const power = Math.log2(scale);
  const factor = Number.isInteger(power) ? `2^${power}` : figure(scale);
  const from = { rmse: 'root of ', perplexity: 'e to the ' }[name] ?? '';
  return `${unitWords(unit)}${from}exact ${metric} ${counts} × ${factor}`;
}

function unitWords(unit: string | undefined): string {
  return unit === undefined ? '' : `in units of ${unit}; `;
}
