/** From when on a job can end, as the contracts count it: contracts/src/Settlement.sol, Opening.sol, Running.sol, Duties.sol. */
import { fromHex, isZero } from '#attestation/base';
import { JobMode, type Terms } from '#attestation/records';
import { isEnded, type JobView } from './job-view.js';

export type ExitCall = 'cancel' | 'abort' | 'abandon' | 'undelivered' | 'void' | 'finalize';

interface Exit {
  readonly call: ExitCall;
  /** Unix seconds of the chain: it is refused up to this second. The client may cancel at any time. */
  readonly after: number;
}

const outcomeRange = 1;

/** How long after its window a sample that nobody drew keeps the job: DRAW_GRACE of Duties. */
const drawGrace = 7 * 24 * 3600;

/** The way out when the other side stays silent; null: there is none, the job has ended or is to be paid. */
export function exitOf(terms: Terms, job: JobView): Exit | null {
  const { windows, acceptBy } = terms;
  if (isEnded(job.state)) return null;
  switch (job.state) {
    case 'Open':
      return { call: 'cancel', after: acceptBy };
    case 'Accepted':
      return { call: 'abort', after: job.since + windows.start };
    case 'Started':
      return { call: 'abandon', after: job.since + windows.compute };
    case 'Committed':
      return exitOfCommitted(terms, job);
    case 'None':
      return null;
  }
}

function exitOfCommitted(terms: Terms, job: JobView): Exit | null {
  if (endsUnsealed(terms, job)) return job.openDuties === 0 ? { call: 'finalize', after: job.since } : null;
  if (job.sampleDue && !job.drawn) return { call: 'void', after: job.drawUntil + drawGrace };
  if (job.unsealed || !hasDelivery(job)) return null;
  return { call: 'undelivered', after: job.missing ? job.ackUntil : finalFrom(terms, job) + terms.windows.reveal };
}

/** The seal was taken away and nothing else can make the run good: it ends without a payment. */
export function endsUnsealed(terms: Terms, job: JobView): boolean {
  const isRevealed = (terms.mode & JobMode.reveal) !== 0;
  return job.unsealed && (isRevealed || terms.dutySelectors.length === 0 || job.outcome === outcomeRange);
}

/** Unix seconds after which a committed job may be paid, once all its duties are met. */
export function finalFrom({ windows }: Terms, job: JobView): number {
  const held = job.hasDuties && job.lastDuty !== 0 ? job.lastDuty + windows.hold : 0;
  return Math.max(job.since + windows.challenge, held, job.ackUntil);
}

/** Unix seconds from which the window for proofs counts: behind a seal, from when the seal can no longer be taken away. */
export function proofsFrom({ windows }: Terms, { since, sealed }: JobView): number {
  return since + (sealed ? windows.challenge : 0);
}

/** Whether the run seals a ciphertext whose key is revealed for the payment. */
export function hasDelivery({ delivery }: JobView): boolean {
  return !isZero(fromHex(delivery));
}

/** Three quarters of the time to compute are over: whoever else may have the job has had them, and now the stake counts. */
export function isLastCall({ windows }: Terms, { since }: JobView, chainTime: number): boolean {
  return chainTime > since + (3 * windows.compute) / 4;
}

/** The last sixteenth of the time to compute: whoever has no run by now gives the job back, for silence costs liveness. */
export function isLastMoment({ windows }: Terms, { since }: JobView, chainTime: number): boolean {
  return chainTime > since + (15 * windows.compute) / 16;
}
