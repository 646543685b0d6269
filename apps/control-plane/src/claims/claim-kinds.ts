/** What distinguishes the kinds of work on segments that nodes claim: training in rounds, and proving. */
import { SegmentProof, WorkerSegment, type Job, type SegmentClaim } from '#libs/persistence';
import { dispatchTopic } from '../core/timing/signals.js';
import { openJob } from '../jobs/open-job.js';
import { leasedStates, waitingStates } from '../jobs/state-machine.js';

export interface ClaimKind<R extends SegmentClaim> {
  readonly entity: new () => R;
  /** States of a job in which reports are taken: what a node began it may bring to its end between two leases. */
  readonly states: readonly string[];
  /** Types of the job's events. */
  readonly events: { readonly progress: string; readonly done: string; readonly failed: string };
  readonly isProof: boolean;
  /** Unix milliseconds after which a claim is not prolonged; null: as often as its holder asks. */
  endOf(job: Job, row: SegmentClaim): number | null;
  /** Who hears that a claim has ended, besides those who follow the job. */
  readonly topics: readonly string[];
  readonly rule: string;
  /** What each event names. */
  place(job: Job, index: number): Record<string, unknown>;
}

const claimSecondsMin = 600;

export const trainingClaims: ClaimKind<WorkerSegment> = {
  entity: WorkerSegment,
  states: [...waitingStates, ...leasedStates],
  events: { progress: 'training', done: 'segment', failed: 'segment-failed' },
  isProof: false,
  endOf: () => null,
  topics: [dispatchTopic],
  rule: 'apps/control-plane/README.md, rounds',
  place(job, index) {
    const { workers, segmentSteps } = openJob(job).division;
    return { round: Math.floor(index / workers), worker: index % workers, index, segmentSteps };
  },
};

export const proofClaims: ClaimKind<SegmentProof> = {
  entity: SegmentProof,
  states: [...waitingStates, ...leasedStates, 'delivered', 'settled'],
  events: { progress: 'proving', done: 'proof', failed: 'proof-failed' },
  isProof: true,
  // The terms say how long one proof may take; a claim that stays longer is somebody's who does not prove.
  endOf(job, row) {
    const { claimedAt } = row as SegmentProof;
    const seconds = Math.max(openJob(job).terms.windows.provePer, claimSecondsMin);
    return claimedAt && claimedAt.getTime() + 1000 * seconds;
  },
  topics: [],
  rule: 'apps/control-plane/README.md, proofs',
  place: (_job, index) => ({ index }),
};
