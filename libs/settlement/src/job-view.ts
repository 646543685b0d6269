/** One job of the escrow as the contract holds it. */
import type { JobStructOutput } from './types/Settlement.js';

/** In the contract's order. */
export const jobStates = [
  'None',
  'Open',
  'Accepted',
  'Started',
  'Committed',
  'Settled',
  'Stopped',
  'Aborted',
  'Abandoned',
  'Undelivered',
  'Slashed',
  'Voided',
] as const;
export type JobState = (typeof jobStates)[number];

export interface JobView {
  readonly state: JobState;
  readonly outcome: number;
  readonly upTo: number;
  /** Challenged segments that are not proved. */
  readonly openDuties: number;
  /** Segments that are proved. */
  readonly proved: number;
  /** Unix seconds at which the present state began. */
  readonly since: number;
  readonly ackUntil: number;
  /** Unix seconds of the last proof; 0: none. */
  readonly lastProof: number;
  /** The client says that the ciphertext cannot be had, and nobody has shown it yet. */
  readonly missing: boolean;
  readonly stopRequested: boolean;
  /** An enclave's seal stands for the run. */
  readonly sealed: boolean;
  /** All segments must be proved. */
  readonly allDue: boolean;
  /** A sample of the segments must be proved, and whether it is drawn. */
  readonly sampleDue: boolean;
  readonly drawn: boolean;
  /** Unix seconds: of the duties that no challenger opened; 0: none. */
  readonly setDeadline: number;
  /** Unix seconds until which the client may draw. */
  readonly drawUntil: number;
  /** Block that drawFallback counts from. */
  readonly drawBlock: number;
  readonly paid: bigint;
  readonly root: string;
  readonly delivery: string;
  /** Of the sample, once it is drawn. */
  readonly seed: string;
}

/** Flags of contracts/src/Types.sol. */
const flag = { sealed: 1n, stop: 2n, drawn: 4n, allDue: 8n, sampleDue: 16n, missing: 32n };

export function viewOf(j: JobStructOutput): JobView {
  const has = (bit: bigint): boolean => (j.flags & bit) !== 0n;
  return {
    state: jobStates[Number(j.state)] ?? 'None',
    outcome: Number(j.outcome),
    upTo: Number(j.upTo),
    openDuties: Number(j.openDuties),
    proved: Number(j.proved),
    since: Number(j.since),
    ackUntil: Number(j.ackUntil),
    lastProof: Number(j.lastProof),
    missing: has(flag.missing),
    stopRequested: has(flag.stop),
    sealed: has(flag.sealed),
    allDue: has(flag.allDue),
    sampleDue: has(flag.sampleDue),
    drawn: has(flag.drawn),
    setDeadline: Number(j.setDeadline),
    drawUntil: Number(j.drawUntil),
    drawBlock: Number(j.drawBlock),
    paid: j.paid,
    root: j.root,
    delivery: j.delivery,
    seed: j.seed,
  };
}
