/** Whether a training went on past its best on the rows kept apart, by the metric that an early end goes by. */
import type { DataHeader } from '#libs/step';
import { areErrorsClose, areSharesClose } from './apart.js';
import { objectiveOf } from './objective.js';
import { readingOf, type Counted, type Measured } from './readings.js';

interface Reached {
  readonly step: number;
  readonly value: number;
}

export interface Overfit {
  /** Of the metric, as a reader is told it. */
  readonly name: string;
  readonly best: Reached;
  readonly last: Reached;
}

/** What is wrong must have grown by a tenth, and by more than a difference that says nothing. */
const clearly = 1.1;
/** Nats: of a loss that ends near 0 any ratio is an accident. */
const sameNats = 0.02;

/** @param curve by rising step @returns null where the last figures are about as good as the best, or there are none */
export function overfitOf(
  header: Pick<DataHeader, 'label' | 'features'>,
  curve: readonly { readonly step: number; readonly metrics: readonly Counted[] }[],
): Overfit | null {
  const { stopMetric } = objectiveOf(header);
  const points = curve.flatMap(({ step, metrics }) =>
    metrics.filter(({ metric }) => metric === stopMetric).map((one) => ({ step, ...readingOf(header, one) })),
  );
  const isShare = stopMetric === 'label-accuracy';
  const last = points.at(-1);
  if (last === undefined) return null;
  // Of a share that is right the rest is wrong, and a loss is wrong as a whole.
  const wrong = ({ value }: Reached): number => (isShare ? 1 - value : value);
  const best = points.reduce((least, one) => (wrong(one) < wrong(least) ? one : least));
  if (wrong(last) <= clearly * wrong(best) || isSame(header, best, last)) return null;
  return {
    name: last.name,
    best: { step: best.step, value: best.value },
    last: { step: last.step, value: last.value },
  };
}

/** Whether two figures of the same rows lie so close that the difference says nothing. */
function isSame({ label }: Pick<DataHeader, 'label'>, best: Measured, last: Measured): boolean {
  switch (label.kind) {
    case 'class':
    case 'tokens':
      return last.mean - best.mean <= sameNats;
    case 'real':
      return areErrorsClose(best.value, last.value, last.scale, label.frac);
    case 'vector':
      // Labels of one row are right and wrong together: a row counts once.
      return areSharesClose(best.value, last.value, Number(last.denominator) / label.count);
  }
}
