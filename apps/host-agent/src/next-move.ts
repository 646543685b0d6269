/** What to do next about one escrow: a pure decision over what the chain says now and what it has confirmed. */
import type { Terms } from '#attestation';
import { jobStates, type JobState, type JobView } from '#libs/settlement';

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
}

/** A key that is revealed so shortly before the end of its window might come too late to be paid. */
export const revealMarginSeconds = 60;

export function nextMove(situation: Situation): Move {
  const { terms, latest, confirmed, chainTime, delivery } = situation;
  if (isEnded(confirmed.state)) return 'end';
  const { windows, acceptBy } = terms;
  switch (latest.state) {
    case 'Accepted':
      return chainTime > latest.since + windows.start ? 'abort' : 'wait';
    case 'Started':
      if (chainTime > latest.since + windows.compute) return 'abandon';
      return delivery === null ? 'wait' : 'commit';
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

/** Every window is looked at here, before anybody touches the key: what refuses a call has seen it. */
function afterCommit({ terms, latest, confirmed, chainTime, now, delivery }: Situation): Move {
  const late = Math.max(chainTime, now);
  if (latest.missing) {
    if (chainTime > latest.ackUntil) return 'undelivered';
    return delivery === latest.delivery ? 'answer' : 'wait';
  }
  const from = Math.max(latest.since, latest.ackUntil);
  const until = from + terms.windows.reveal;
  if (latest.delivery === noDelivery) return chainTime >= from ? 'finalize' : 'wait';
  if (chainTime > until) return 'undelivered';
  const isSettledWord = confirmed.state === 'Committed' && !confirmed.missing && confirmed.delivery === latest.delivery;
  const isOwn = delivery === latest.delivery && latest.openDuties === 0;
  const isTime = chainTime >= from && late + revealMarginSeconds <= until;
  return isSettledWord && isOwn && isTime ? 'finalize' : 'wait';
}

const noDelivery = `0x${'00'.repeat(32)}`;

export function isEnded(state: JobState): boolean {
  return jobStates.indexOf(state) > jobStates.indexOf('Committed');
}
