/** Two judgements of one bundle side by side: then and at another time. */
import { statusOrder, type Check } from '#libs/review';

export interface ComparedCheck {
  /** Of which the sentences are shown; of then, where it stands there. */
  readonly check: Check;
  readonly was: Check | undefined;
  readonly today: Check | undefined;
}

export const keyOf = ({ id, subject }: Check): string => `${id} ${JSON.stringify(subject ?? 'bundle')}`;

export function compared(was: readonly Check[], today: readonly Check[]): readonly ComparedCheck[] {
  const later = new Map(today.map((check) => [keyOf(check), check]));
  const earlier = new Set(was.map(keyOf));
  return [
    ...was.map((check) => ({ check, was: check, today: later.get(keyOf(check)) })),
    ...today.flatMap((check) => (earlier.has(keyOf(check)) ? [] : [{ check, was: undefined, today: check }])),
  ];
}

export const isSame = ({ was, today }: ComparedCheck): boolean =>
  was !== undefined && today !== undefined && was.status === today.status;

export const simplyHolds = (one: ComparedCheck): boolean => isSame(one) && one.was!.status === 'met';

/** Gravest first; equal ones keep their order. */
export function sorted(all: readonly ComparedCheck[]): readonly ComparedCheck[] {
  const rank = (check: Check | undefined): number =>
    check === undefined ? statusOrder.length : statusOrder.indexOf(check.status);
  return all.toSorted((a, b) => Math.min(rank(a.was), rank(a.today)) - Math.min(rank(b.was), rank(b.today)));
}

/** What holds no longer. */
export function fallen(all: readonly ComparedCheck[]): readonly ComparedCheck[] {
  const isGood = (check: Check | undefined): boolean => check?.status === 'met' || check?.status === 'warned';
  return all.filter(({ was, today }) => isGood(was) && today !== undefined && !isGood(today));
}
