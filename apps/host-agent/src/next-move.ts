/** What to do next about one escrow: a pure decision over what the chain says now and what it has confirmed. */
import type { Terms } from '#attestation';
import { exitOf, finalFrom, hasDelivery, jobStates, type JobState, type JobView } from '#libs/settlement';

/**
 * `answer`: show the ciphertext that the client misses; `finalize`: the key may be revealed; `end`: it is over, and
 * nothing of it can come back.
 */
export type Move = 'wait' | 'abort' | 'abandon' | 'commit' | 'answer' | 'undelivered' | 'finalize' | 'end';

export interface Situation {
  readonly terms: Terms;
  readonly latest: JobView;
  /** At the last block that has its confirmations. */
  readonly confirmed: JobView;
  /** Of the latest block, unix seconds. */
  readonly chainTime: number;
  /** This host's clock, unix seconds: blocks may be long in coming. */
  readonly now: number;
  /** What the result that is on disk seals as its delivery, 0x-hexadecimal; null: there is no result. */
  readonly delivery: string | null;
  /** The control plane has taken the result: no other one can come before it. */
  readonly isTold: boolean;
}

/** A key that is revealed so shortly before the end of its window might come too late to be paid. */
export const revealMarginSeconds = 60;

export function nextMove(situation: Situation): Move {
  const { terms, latest, confirmed, chainTime, delivery } = situation;
  if (isEnded(confirmed.state)) return 'end';
  const { windows, acceptBy } = terms;
  const isLate = chainTime > (exitOf(terms, latest)?.after ?? Infinity);
  switch (latest.state) {
    case 'Accepted':
      return isLate ? 'abort' : 'wait';
    case 'Started':
      if (isLate) return 'abandon';
      return delivery !== null && (situation.isTold || isLastCall(situation)) ? 'commit' : 'wait';
    case 'Committed':
      return afterCommit(situation);
    case 'None':
    case 'Open':
      // Without a result nothing can be lost: it was never accepted, and cannot be any more.
      return delivery === null && confirmed.state === latest.state && chainTime > acceptBy + windows.start
        ? 'end'
        : 'wait';
    case 'Settled':
    case 'Stopped':
    case 'Aborted':
    case 'Abandoned':
    case 'Undelivered':
    case 'Slashed':
    case 'Voided':
      return 'wait';
  }
}

/** Whoever else may have the job has had three quarters of the time; from now on the stake counts. */
function isLastCall({ terms, latest, chainTime }: Situation): boolean {
  return chainTime > latest.since + (3 * terms.windows.compute) / 4;
}

/** Every window is looked at here, before anybody touches the key: what refuses a call has seen it. */
function afterCommit({ terms, latest, confirmed, chainTime, now, delivery }: Situation): Move {
  const late = Math.max(chainTime, now);
  const from = finalFrom(terms, latest);
  const isProved = latest.openDuties === 0 && (!latest.allDue || latest.proved === latest.upTo);
  if (!hasDelivery(latest)) return isProved && chainTime >= from ? 'finalize' : 'wait';
  const until = exitOf(terms, latest)!.after;
  if (chainTime > until) return 'undelivered';
  if (latest.missing) return delivery === latest.delivery ? 'answer' : 'wait';
  const isSettledWord = confirmed.state === 'Committed' && !confirmed.missing && confirmed.delivery === latest.delivery;
  const isOwn = delivery === latest.delivery && isProved;
  const isTime = chainTime >= from && late + revealMarginSeconds <= until;
  return isSettledWord && isOwn && isTime ? 'finalize' : 'wait';
}

export function isEnded(state: JobState): boolean {
  return jobStates.indexOf(state) > jobStates.indexOf('Committed');
}
