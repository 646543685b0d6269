/** How long a job waits after a lease that brought nothing, and which of those are nobody's fault. */
import type { Job, Lease } from '#libs/persistence';

/** The pause doubles with each setback up to this many times the first one. */
const doublingsMax = 5;
/** A lease that lasted longer was at work: what ends it is the first setback again. */
const atWorkMilliseconds = 600_000;

/**
 * Codes of a service that the job needs and that is away or busy: another attempt later may do, and none is used up. What key
 * broker and attestors refuse for good has codes of theirs as well, but no node asks to try again then. A job that was given
 * back waits for the block that ends it.
 */
const away =
  /^((BROKER|NONCES?)_[A-Z0-9_]+|CHAIN_(UNREACHABLE|STUCK|FEES|NONCE|REPLACED|RACE|BORDERS|HEADER)|HOST_(TERMS_ATTESTOR|ENDORSEMENT_AWAY)|LEASE_GIVEN_BACK)$/;

export function isAway(code: string): boolean {
  return away.test(code);
}

/** @param firstSeconds  pause after the first setback; 0: none after any */
export function setback(
  { setbacks }: Pick<Job, 'setbacks'>,
  { acquiredAt }: Pick<Lease, 'acquiredAt'>,
  now: Date,
  firstSeconds: number,
): Pick<Job, 'setbacks' | 'notBefore'> {
  const count = now.getTime() - acquiredAt.getTime() > atWorkMilliseconds ? 1 : setbacks + 1;
  const pauseMilliseconds = 1000 * firstSeconds * 2 ** Math.min(count - 1, doublingsMax);
  return { setbacks: count, notBefore: new Date(now.getTime() + pauseMilliseconds) };
}
