/** One job of the escrow, and what its run owes, as the contracts hold them. */
import type { DutyStructOutput } from './types/Duties.js';
import type { JobStructOutput } from './types/Settlement.js';

const liveStates = ['None', 'Open', 'Accepted', 'Started', 'Committed'] as const;
const endStates = [
  ...(['Settled', 'Stopped', 'Aborted', 'Abandoned', 'Undelivered'] as const),
  ...(['Slashed', 'Voided', 'Unsealed', 'Resigned'] as const),
] as const;
/** In the contract's order. */
export const jobStates = [...liveStates, ...endStates] as const;
export type JobState = (typeof jobStates)[number];

export function isEnded(state: JobState): state is (typeof endStates)[number] {
  return (endStates as readonly string[]).includes(state);
}

const outcomeEarly = 3;

/** Whether the run was paid for: all of it, or as much as the manifest's rule let it train (contracts/SPEC.md §3). */
export function isPaidFor({ state, outcome }: { readonly state: JobState; readonly outcome: number | null }): boolean {
  return state === 'Settled' || (state === 'Stopped' && outcome === outcomeEarly);
}

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
  /** Unix seconds of the newest proof of a segment that was owed, or that forestalled a challenge; 0: none. */
  readonly lastDuty: number;
  /** The client says that the ciphertext cannot be had, and nobody has answered yet. */
  readonly missing: boolean;
  /** A complaint was answered by Availability. */
  readonly available: boolean;
  /** Acknowledged or published: no complaint any more. */
  readonly shown: boolean;
  readonly stopRequested: boolean;
  /** An enclave's seal stands for the run. */
  readonly sealed: boolean;
  /** A seal stood for the run and was taken away. */
  readonly unsealed: boolean;
  /** Segments are or were due. */
  readonly hasDuties: boolean;
  /** All segments must be proved. */
  readonly allDue: boolean;
  /** All are due only because the seal was taken away. */
  readonly dueByUnseal: boolean;
  /** A sample of the segments must be proved, and whether it is drawn. */
  readonly sampleDue: boolean;
  readonly drawn: boolean;
  /** Unix seconds: of the duties that no challenger opened; 0: none. */
  readonly setDeadline: number;
  /** Unix seconds between which the client may draw. */
  readonly drawFrom: number;
  readonly drawUntil: number;
  /** Block whose mix decides where the client did not draw. */
  readonly drawBlock: number;
  readonly paid: bigint;
  readonly root: string;
  readonly delivery: string;
  /** Of the sample, once it is drawn. */
  readonly seed: string;
}

/** Flags of contracts/src/Types.sol. */
const flag = { sealed: 1n, stop: 2n, unsealed: 4n, duties: 8n, missing: 16n, available: 32n, shown: 64n };
/** Flags of contracts/src/Duties.sol. */
const dutyFlag = { all: 1n, sample: 2n, drawn: 4n, byUnseal: 8n };

export function viewOf(j: JobStructOutput, d: DutyStructOutput): JobView {
  const has = (bit: bigint): boolean => (j.flags & bit) !== 0n;
  const owes = (bit: bigint): boolean => (d.flags & bit) !== 0n;
  return {
    state: jobStates[Number(j.state)] ?? 'None',
    outcome: Number(j.outcome),
    upTo: Number(j.upTo),
    openDuties: Number(d.open),
    proved: Number(d.proved),
    since: Number(j.since),
    ackUntil: Number(j.ackUntil),
    lastDuty: Number(d.lastDuty),
    missing: has(flag.missing),
    available: has(flag.available),
    shown: has(flag.shown),
    stopRequested: has(flag.stop),
    sealed: has(flag.sealed),
    unsealed: has(flag.unsealed),
    hasDuties: has(flag.duties),
    allDue: owes(dutyFlag.all),
    dueByUnseal: owes(dutyFlag.byUnseal),
    sampleDue: owes(dutyFlag.sample),
    drawn: owes(dutyFlag.drawn),
    setDeadline: Number(d.setDeadline),
    drawFrom: Number(d.drawFrom),
    drawUntil: Number(d.drawUntil),
    drawBlock: Number(d.drawBlock),
    paid: j.paid,
    root: d.root,
    delivery: j.delivery,
    seed: d.seed,
  };
}
