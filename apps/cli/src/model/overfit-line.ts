/** That a training went on past its best, as a line of a table. */
import type { Overfit } from '#libs/models';

/** @param mayStop the same training could be had with a rule to stop by, which no checkpoint of `veritrain train` allows */
export function overfitLine({ name, best, last }: Overfit, mayStop = true): readonly [string, string] {
  const [least, end] = [best, last].map(({ value }) => Number(value.toPrecision(3)));
  const where = `best at step ${best.step} (${name} ${least}), ${end} at the end, step ${last.step}`;
  return [
    'warning',
    mayStop ? `${where}: a plan with --patience N of model init ends there and keeps the best` : where,
  ];
}
