/** What exact sums mean in the user's own units (libs/step/SPEC.md §29). */
import type { DataHeader } from '#libs/step';

export interface Measured {
  readonly metric: string;
  /** Whole numbers, as decimal digits. */
  readonly numerator: string;
  readonly denominator: string;
  /** What they say: a share, a mean loss, a mean error. */
  readonly name: string;
  readonly value: number;
}

interface Reading {
  readonly metric: string;
  value(numerator: bigint, denominator: bigint): Pick<Measured, 'name' | 'value'>;
}

const lossFraction = 16;

/** Metrics that a label has, with their readings. */
export function metricsOf({ label }: Pick<DataHeader, 'label'>): readonly Reading[] {
  const share = (metric: string): Reading => ({
    metric,
    value: (numerator, denominator) => ({ name: metric, value: Number(numerator) / Number(denominator) }),
  });
  const nats = (numerator: bigint, denominator: bigint): number =>
    Number(numerator) / Number(denominator) / 2 ** lossFraction;
  switch (label.kind) {
    case 'class':
      return [share('accuracy'), { metric: 'loss', value: (n, d) => ({ name: 'loss', value: nats(n, d) }) }];
    case 'tokens':
      return [
        { metric: 'loss', value: (n, d) => ({ name: 'perplexity', value: Math.exp(nats(n, d)) }) },
        share('accuracy'),
      ];
    case 'vector':
      return [share('exact-match'), share('label-accuracy')];
    case 'real': {
      // Of several targets each has its own scale; their sum is told in standard deviations.
      const [column, ...others] = label.columns;
      const scale = column?.kind === 'number' && others.length === 0 ? column.scale : 1;
      const unit = 2 ** -label.frac;
      return [
        {
          metric: 'sse',
          value: (n, d) => ({ name: 'rmse', value: Math.sqrt(Number(n) / Number(d)) * unit * scale }),
        },
        {
          metric: 'sae',
          value: (n, d) => ({ name: 'mean absolute error', value: (Number(n) / Number(d)) * unit * scale }),
        },
      ];
    }
  }
}
