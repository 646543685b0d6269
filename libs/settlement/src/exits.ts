/** From when on a job can end, as the contract counts it: contracts/src/Settlement.sol, Opening.sol, Running.sol. */
import { fromHex, isZero, type Terms } from '#attestation';
import type { JobView } from './job-view.js';

export type ExitCall = 'cancel' | 'abort' | 'abandon' | 'undelivered';

export interface Exit {
  readonly call: ExitCall;
  /** Unix seconds of the chain: it is refused up to this second. The client may cancel at any time. */
  readonly after: number;
}

const outcomeRange = 1;

/** The way out when the other side stays silent; null: there is none, the job has ended or is to be paid. */
export function exitOf(terms: Terms, job: JobView): Exit | null {
  const { windows, acceptBy } = terms;
  switch (job.state) {
    case 'Open':
      return { call: 'cancel', after: acceptBy };
    case 'Accepted':
      return { call: 'abort', after: job.since + windows.start };
    case 'Started':
      return { call: 'abandon', after: job.since + windows.compute };
    case 'Committed':
      if (!hasDelivery(job)) return null;
      return { call: 'undelivered', after: job.missing ? job.ackUntil : finalFrom(terms, job) + windows.reveal };
    case 'None':
    case 'Settled':
    case 'Stopped':
    case 'Aborted':
    case 'Abandoned':
    case 'Undelivered':
    case 'Slashed':
    case 'Voided':
      return null;
  }
}

/** Unix seconds from which a committed job may be paid, once all its duties are met. */
export function finalFrom({ windows }: Terms, job: JobView): number {
  const isProved = job.proved === job.upTo && job.upTo !== 0 && job.outcome !== outcomeRange;
  const challenged = windows.challenge !== 0 && !isProved ? job.since + windows.challenge + 1 : job.since;
  const held = job.lastProof === 0 ? 0 : job.lastProof + windows.hold;
  return Math.max(challenged, held, job.ackUntil);
}

/** Whether the run seals a ciphertext whose key is revealed for the payment. */
export function hasDelivery({ delivery }: JobView): boolean {
  return !isZero(fromHex(delivery));
}
