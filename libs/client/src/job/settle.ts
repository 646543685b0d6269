/** What brings a committed escrow nearer to its end, whoever calls it: contracts/SPEC.md §6, §7. */
import { Rejection } from '#attestation/base';
import { type Terms } from '#attestation/records';
import {
  endsUnsealed,
  finalFrom,
  hasDelivery,
  type DutyView,
  type JobView,
  type SettlementClient,
  type TxReceipt,
} from '#libs/settlement';

type SettleMove =
  | { readonly call: 'draw' | 'drawFallback' | 'finalize' }
  | { readonly call: 'lapse'; readonly segment: number }
  | { readonly call: 'wait'; readonly until: number; readonly why: string };

interface SettleSituation {
  readonly terms: Terms;
  readonly job: JobView;
  readonly duties: readonly DutyView[];
  /** Whether the client's seed is at hand. */
  readonly hasSeed: boolean;
  /** Unix seconds of the chain. */
  readonly at: number;
  /** Unix seconds of the newest block that stays. */
  readonly finalAt: number;
}

/** @throws Rejection ESCROW_STATE when nothing is committed, or all is over */
function settleMove({ terms, job, duties, hasSeed, at, finalAt }: SettleSituation): SettleMove {
  if (job.state !== 'Committed') throw notCommitted(job.state);
  if (endsUnsealed(terms, job) && job.openDuties === 0) return { call: 'finalize' };
  if (job.sampleDue && !job.drawn) {
    if (at > job.drawUntil) return { call: 'drawFallback' };
    if (hasSeed && finalAt < job.drawFrom) {
      return { call: 'wait', until: job.drawFrom, why: 'the committed run must be final before the sample is drawn' };
    }
    if (hasSeed) return { call: 'draw' };
    return { call: 'wait', until: job.drawUntil, why: 'the client may draw the sample with its seed until then' };
  }
  const open = duties.filter(({ proved }) => !proved);
  const late = open.find(({ deadline }) => deadline !== null && at > deadline);
  if (late !== undefined) return { call: 'lapse', segment: late.segment };
  if (open.length > 0) {
    const until = Math.min(...open.map(({ deadline }) => deadline!));
    return { call: 'wait', until, why: `the provider owes proofs of ${open.map(({ segment }) => segment).join(', ')}` };
  }
  if (job.missing) return { call: 'wait', until: job.ackUntil, why: 'the provider may show the missing ciphertext' };
  const from = finalFrom(terms, job);
  if (hasDelivery(job)) {
    const why = 'the provider is to reveal the key and be paid; `veritrain job result` checks and acknowledges';
    return { call: 'wait', until: from + terms.windows.reveal, why };
  }
  if (at <= from) return { call: 'wait', until: from, why: 'windows of the terms are open' };
  return { call: 'finalize' };
}

interface Settled {
  readonly move: SettleMove;
  readonly receipt: TxReceipt | null;
}

/**
 * Takes the next step.
 * @param seed  preimage of Terms.seedCommitClient, where the client kept it
 */
export async function settleEscrow(
  escrow: SettlementClient,
  terms: Terms,
  at: number,
  seed: Uint8Array | undefined,
): Promise<Settled> {
  const job = await escrow.job(terms);
  const duties = await escrow.duties.list(terms);
  const finalAt = (await escrow.settled(terms)).block.timestamp;
  const move = settleMove({ terms, job, duties, hasSeed: seed !== undefined, at, finalAt });
  switch (move.call) {
    case 'draw':
      return { move, receipt: await escrow.duties.draw(terms, seed!) };
    case 'drawFallback':
      return { move, receipt: await escrow.duties.drawFallback(terms) };
    case 'lapse':
      return { move, receipt: await escrow.duties.lapse(terms, move.segment) };
    case 'finalize':
      return { move, receipt: await escrow.finalize(terms) };
    case 'wait':
      return { move, receipt: null };
  }
}

function notCommitted(state: string): Rejection {
  return new Rejection('ESCROW_STATE', {
    expected: 'an escrow whose run is committed',
    got: state,
    rule: 'contracts/SPEC.md §6',
    action: 'see `veritrain job exit`, or `veritrain job withdraw` when it has ended',
  });
}
