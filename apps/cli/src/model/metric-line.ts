/** A metric as a line of a table: its value, and the exact counts behind it. */

interface Shown {
  readonly metric: string;
  readonly name: string;
  readonly value: number;
  readonly numerator: string;
  readonly denominator: string;
}

/** A share is told as the fraction that it is; of others the counts are named, for their quotient is not the value. */
export function metricLine({ metric, name, value, numerator, denominator }: Shown): readonly [string, string] {
  const counts = `${numerator}/${denominator}`;
  const isShare = Number(numerator) / Number(denominator) === value;
  return [name, `${value.toPrecision(5)}  (${isShare ? counts : `exact ${metric} ${counts}`})`];
}
