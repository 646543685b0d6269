/** What anybody may ask for and costs much to find: found once for all who ask within a moment. */
import type { Clock } from './clock.js';

/** A failure is kept as an answer is: who asks again at once costs no more. */
export function keptFor<T>(milliseconds: number, clock: Clock, find: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  /** When the answer was there, by the monotonic clock; absent while it is looked for. */
  let foundAt: number | undefined;
  return () => {
    if (current !== undefined && (foundAt === undefined || clock.monotonic() - foundAt < milliseconds)) return current;
    foundAt = undefined;
    const found = (): void => void (foundAt = clock.monotonic());
    current = find();
    current.then(found, found);
    return current;
  };
}
