/** The states of a job and every way between them, in one table. */
import { refusal } from '../problem/codes.js';

export const jobStates = [
  'submitted',
  'assigned',
  'attested',
  'keyed',
  'running',
  'delivered',
  'settled',
  'refused',
  'failed',
  'expired',
  'cancelled',
  'disputed',
] as const;
export type JobState = (typeof jobStates)[number];

export const leasedStates = ['assigned', 'attested', 'keyed', 'running'] as const satisfies readonly JobState[];

interface Transition {
  readonly from: readonly JobState[];
  readonly to: JobState;
  /** An exit always says why. */
  readonly needsCode: boolean;
}

export const transitions = {
  /** A node takes the job under a new fencing number. */
  lease: { from: ['submitted'], to: 'assigned', needsCode: false },
  /** The job's policy accepts the evidence of the node's enclave. */
  attest: { from: ['assigned'], to: 'attested', needsCode: false },
  /** The key broker released the data key to that enclave. */
  key: { from: ['attested'], to: 'keyed', needsCode: false },
  run: { from: ['keyed'], to: 'running', needsCode: false },
  deliver: { from: ['running'], to: 'delivered', needsCode: false },
  settle: { from: ['delivered'], to: 'settled', needsCode: false },
  /** The lease ended without a result and may be tried again; checkpoints stay. */
  lose: { from: leasedStates, to: 'submitted', needsCode: true },
  /** Neither policy nor broker accepts an enclave for it. */
  refuse: { from: ['assigned', 'attested'], to: 'refused', needsCode: true },
  fail: { from: ['submitted', ...leasedStates], to: 'failed', needsCode: true },
  expire: { from: ['submitted', ...leasedStates], to: 'expired', needsCode: true },
  cancel: { from: ['submitted', ...leasedStates], to: 'cancelled', needsCode: true },
  /** The escrow ended otherwise than by paying for the delivery. */
  dispute: { from: ['delivered'], to: 'disputed', needsCode: true },
  /** The block that settled the job is no longer part of the chain. */
  reorganise: { from: ['settled'], to: 'delivered', needsCode: true },
} as const satisfies Record<string, Transition>;

export type JobTrigger = keyof typeof transitions;

/** States in which nothing is left to do. */
export const endStates: readonly JobState[] = ['settled', 'refused', 'failed', 'expired', 'cancelled', 'disputed'];

/** @throws Rejection JOB_STATE when the trigger does not apply in this state */
export function nextState(state: JobState, trigger: JobTrigger): JobState {
  const transition: Transition = transitions[trigger];
  if (!transition.from.includes(state)) {
    throw refusal('JOB_STATE', {
      expected: `a job that is ${transition.from.join(' or ')}`,
      got: state,
      rule: 'control-plane README, job states',
      action: 'Read the job and act on the state it is in.',
    });
  }
  return transition.to;
}
