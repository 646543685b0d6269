/** What to do next about one escrow: a pure decision over what the chain says now and what it has confirmed. */
import { JobMode, type Terms } from '#attestation/records';
import {
  endsUnsealed,
  exitOf,
  finalFrom,
  hasDelivery,
  isEnded,
  isLastCall,
  isLastMoment,
  proofsFrom,
  type JobView,
} from '#libs/settlement';

/**
 * `resign`: nobody works on it any more, or proofs are missing that its run would owe; `discharge`: bring proofs that are owed;
 * `store`: give the ciphertext to the key broker; `answer` and `publish`: show the
 * ciphertext that the client misses, the second time on chain alone; `unsealed`: end it without a key, for nothing is paid;
 * `lapse`: the same where proofs could have made the run good, and their time is over;
 * `finalize`: the key may be revealed; `end`: it is over, and nothing of it can come back.
 */
export type Move =
  | 'wait'
  | 'abort'
  | 'abandon'
  | 'resign'
  | 'commit'
  | 'discharge'
  | 'store'
  | 'answer'
  | 'publish'
  | 'undelivered'
  | 'unsealed'
  | 'lapse'
  | 'finalize'
  | 'end';

export interface Situation {
  readonly terms: Terms;
  readonly latest: JobView;
  /** At the last block that has its confirmations. */
  readonly confirmed: JobView;
  /** Of the latest block, unix seconds. */
  readonly chainTime: number;
  /** What the chain may have by now, unix seconds: blocks may be long in coming. */
  readonly timeAtLeast: number;
  readonly timeAtMost: number;
  /** What the result that is on disk seals as its delivery, 0x-hexadecimal; null: there is no result. */
  readonly delivery: string | null;
  /** The control plane has taken the result: no other one can come before it. */
  readonly isTold: boolean;
  /** The result says that the run cannot go on: nothing is paid for it. */
  readonly isStopped: boolean;
  /** The run owes proofs that are not on disk. */
  readonly lacksProofs: boolean;
  /** There are proofs on disk, and the chain lacks proofs that are pressing (`isPressing`). */
  readonly bringsProofs: boolean;
  /** The key broker has the whole ciphertext. */
  readonly isStored: boolean;
  /** No session after this host's own was bound to the job. */
  readonly isNewest: boolean;
  /** Seconds before the end of its window from which on a key would be shown too late (S-L13). */
  readonly revealMargin: number;
}

export function nextMove(situation: Situation): Move {
  const { terms, latest, confirmed, chainTime, delivery } = situation;
  if (isEnded(confirmed.state)) return 'end';
  const { windows, acceptBy } = terms;
  const isLate = chainTime > (exitOf(terms, latest)?.after ?? Infinity);
  if (isEnded(latest.state)) return 'wait';
  switch (latest.state) {
    case 'Accepted':
      return isLate ? 'abort' : 'wait';
    case 'Started':
      return isLate ? 'abandon' : whileStarted(situation);
    case 'Committed':
      return afterCommit(situation);
    case 'None':
    case 'Open':
      // Without a result nothing can be lost: it was never accepted, and cannot be any more.
      return delivery === null && confirmed.state === latest.state && chainTime > acceptBy + windows.start
        ? 'end'
        : 'wait';
  }
}

/** What is done besides, whether the next move fails or not: the price hangs on the answer, the stake on the proofs. */
export function moveBesides(next: Move, { bringsProofs }: Pick<Situation, 'bringsProofs'>): Move | null {
  return bringsProofs && (next === 'answer' || next === 'publish') ? 'discharge' : null;
}

/**
 * Others have had a quarter of the window for proofs to bring them: they do it at once, so from here on this host does. Where every
 * segment is due none can be challenged.
 */
export function isPressing(terms: Terms, view: JobView, timeAtLeast: number): boolean {
  const { allDue, proved, upTo } = view;
  return allDue && proved < upTo && timeAtLeast > proofsFrom(terms, view) + terms.windows.prove / 4;
}

/**
 * Without a run silence would cost liveness, and giving the job back costs nothing. A run whose proofs are missing would cost
 * the stake, so it is not committed.
 */
function whileStarted(situation: Situation): Move {
  const { terms, latest, timeAtLeast, delivery, isTold, isNewest, isStopped, lacksProofs } = situation;
  const isLast = isLastCall(terms, latest, timeAtLeast);
  if (lacksProofs) return isNewest && (isStopped || isLastMoment(terms, latest, timeAtLeast)) ? 'resign' : 'wait';
  if (delivery !== null) return isTold || isLast ? 'commit' : 'wait';
  const isOver = mayBeProved(terms) ? isLastMoment(terms, latest, timeAtLeast) : isLast;
  return isOver && isNewest ? 'resign' : 'wait';
}

/**
 * A node without a TEE may be at work on it, whose key nobody binds. One that has a run commits it from the last quarter on, and
 * one that has none gives the job back in the last sixteenth: from then on this host may as well.
 */
function mayBeProved({ mode, dutySelectors }: Terms): boolean {
  return (mode & JobMode.reveal) === 0 && dutySelectors.length > 0;
}

/** Every window is looked at here, before anybody touches the key: what refuses a call has seen it. */
function afterCommit(situation: Situation): Move {
  const { terms, latest, chainTime, delivery, bringsProofs } = situation;
  if (endsUnsealed(terms, latest)) return latest.openDuties === 0 ? 'unsealed' : 'wait';
  if (latest.dueByUnseal && !isMet(latest) && chainTime > latest.setDeadline) return 'lapse';
  const until = exitOf(terms, latest)?.after ?? Infinity;
  const isAsked = latest.missing && chainTime <= until && delivery === latest.delivery;
  if (isAsked) return latest.available ? 'publish' : 'answer';
  if (bringsProofs) return 'discharge';
  if (!hasDelivery(latest)) return isMet(latest) && chainTime > finalFrom(terms, latest) ? 'finalize' : 'wait';
  // While proofs are owed the chain takes no other end.
  if (chainTime > until && (latest.missing || isMet(latest))) return 'undelivered';
  if (delivery !== latest.delivery) return 'wait';
  return withDelivery(situation, until);
}

function withDelivery(situation: Situation, until: number): Move {
  const { terms, latest, confirmed, chainTime, timeAtMost, isStored, revealMargin } = situation;
  const isSettledWord = confirmed.state === 'Committed' && !confirmed.missing && confirmed.delivery === latest.delivery;
  if (!isSettledWord) return 'wait';
  const isInTime = Math.max(chainTime, timeAtMost) + revealMargin <= until;
  if (isMet(latest) && chainTime > finalFrom(terms, latest)) return isInTime ? 'finalize' : 'wait';
  return isStored ? 'wait' : 'store';
}

function isMet({ openDuties, allDue, proved, upTo }: JobView): boolean {
  return openDuties === 0 && (!allDue || proved === upTo);
}
