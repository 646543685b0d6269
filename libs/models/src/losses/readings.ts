/** What exact sums mean in the user's own units (libs/step/SPEC.md §29). */
import type { DataHeader } from '#libs/step';

export interface Measured {
  readonly metric: string;
  /** Whole numbers, as decimal digits. */
  readonly numerator: string;
  readonly denominator: string;
  /** What 1 of the numerator is: nats of a loss, of `sae` the label's unit (of several labels deviations), of `sse` its square. */
  readonly scale: number;
  /** numerator/denominator · scale: a share, a mean loss in nats, a mean squared or absolute error. */
  readonly mean: number;
  /** What a reader is told: the mean itself, or the perplexity or rmse that follows from it. */
  readonly name: string;
  readonly value: number;
  /** Of an error over several labels, whose own units differ: each counts in deviations of its own. Else absent. */
  readonly unit?: typeof spreadUnit;
}

/** What center and scale of a header divide a label by. */
const spreadUnit = "each label's spread";

interface Reading extends Pick<Measured, 'unit'> {
  readonly metric: string;
  readonly scale: number;
  value(numerator: bigint, denominator: bigint): Pick<Measured, 'name' | 'value'>;
}

const lossScale = 2 ** -16;

/** Metrics that a label has, with their readings. */
export function metricsOf({ label }: Pick<DataHeader, 'label'>): readonly Reading[] {
  const share = (metric: string): Reading => ({
    metric,
    scale: 1,
    value: (numerator, denominator) => ({ name: metric, value: Number(numerator) / Number(denominator) }),
  });
  const nats = (numerator: bigint, denominator: bigint): number =>
    (Number(numerator) / Number(denominator)) * lossScale;
  switch (label.kind) {
    case 'class':
      return [
        share('accuracy'),
        { metric: 'loss', scale: lossScale, value: (n, d) => ({ name: 'loss', value: nats(n, d) }) },
      ];
    case 'tokens':
      return [
        { metric: 'loss', scale: lossScale, value: (n, d) => ({ name: 'perplexity', value: Math.exp(nats(n, d)) }) },
        share('accuracy'),
      ];
    case 'vector':
      return [share('exact-match'), share('label-accuracy')];
    case 'real': {
      // Of several targets each has its own scale; their sum is told in standard deviations.
      const [column, ...others] = label.columns;
      const scale = column?.kind === 'number' && others.length === 0 ? column.scale : 1;
      const unit = 2 ** -label.frac;
      const own: Pick<Measured, 'unit'> = others.length === 0 ? {} : { unit: spreadUnit };
      return [
        {
          ...own,
          metric: 'sse',
          scale: (unit * scale) ** 2,
          value: (n, d) => ({ name: 'rmse', value: Math.sqrt(Number(n) / Number(d)) * unit * scale }),
        },
        {
          ...own,
          metric: 'sae',
          scale: unit * scale,
          value: (n, d) => ({ name: 'mean absolute error', value: (Number(n) / Number(d)) * unit * scale }),
        },
      ];
    }
  }
}

export interface Counted {
  readonly metric: string;
  readonly numerator: bigint | string;
  readonly denominator: bigint | string;
}

/** What an exact fraction says in the user's own units. */
export function readingOf(header: Pick<DataHeader, 'label'>, { metric, ...exact }: Counted): Measured {
  const [numerator, denominator] = [BigInt(exact.numerator), BigInt(exact.denominator)];
  const { scale, value, unit } = metricsOf(header).find((one) => one.metric === metric)!;
  return {
    ...{ metric, numerator: String(numerator), denominator: String(denominator), scale },
    mean: (Number(numerator) / Number(denominator)) * scale,
    ...value(numerator, denominator),
    ...(unit !== undefined && { unit }),
  };
}
