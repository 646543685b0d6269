/** Until when a session's attestation counts, and what is taken of it. */
import { refusal } from '../core/problem/codes.js';

/** What the contract's uint40 holds, and far inside of what a date does. */
const secondsMax = 2 ** 40;

/** @param notAfter unix seconds, as the key broker signed it */
export function attestedUntil(notAfter: number): Date {
  return new Date(1000 * Math.min(notAfter, secondsMax));
}

/** @throws Rejection ATTESTATION_LAPSED for anything that a session signed whose attestation is over */
export function requireFresh({ attestedUntil: until }: { readonly attestedUntil: Date | null }, now: Date): void {
  if (until === null || now <= until) return;
  throw refusal('ATTESTATION_LAPSED', {
    expected: `a renewal by ${until.toISOString()}`,
    got: now.toISOString(),
    rule: 'apps/control-plane/README.md, renewals',
    action: 'Report the newest renewal first; without one the job goes to another session.',
  });
}

export function staleRenewal(present: Date | null, until: Date) {
  return refusal('RENEWAL_STALE', {
    expected: `an end after ${present?.toISOString() ?? 'now'}, and after now`,
    got: until.toISOString(),
    rule: 'apps/control-plane/README.md, renewals',
    action: 'Have fresh evidence of the session appraised by the key broker.',
  });
}
