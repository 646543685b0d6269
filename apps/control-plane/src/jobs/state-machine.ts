/** The states of a job and every way between them, in one table. */
import { refusal } from '../core/problem/codes.js';

export const jobStates = [
  'submitted',
  'paused',
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

/** States in which no node has the job. */
export const waitingStates = ['submitted', 'paused'] as const satisfies readonly JobState[];
export const leasedStates = ['assigned', 'attested', 'keyed', 'running'] as const satisfies readonly JobState[];
/** States in which a session works with a data key. */
export const attestedStates = ['keyed', 'running'] as const satisfies readonly JobState[];

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
  /** The broker gave it to a named prover, a node without a TEE that shows no evidence: the job's steps are proved. */
  entrust: { from: ['assigned'], to: 'keyed', needsCode: false },
  run: { from: ['keyed'], to: 'running', needsCode: false },
  deliver: { from: ['running'], to: 'delivered', needsCode: false },
  /** The delivery that the chain has committed, from the node that made it, whatever became of its lease. */
  recover: { from: [...leasedStates, 'failed'], to: 'delivered', needsCode: false },
  settle: { from: ['delivered'], to: 'settled', needsCode: false },
  /** The lease ended without a result and may be tried again; checkpoints stay. */
  lose: { from: leasedStates, to: 'submitted', needsCode: true },
  /** Neither policy nor broker accepts an enclave for it. */
  refuse: { from: ['assigned', 'attested'], to: 'refused', needsCode: true },
  /** Nobody is given the job until it is resumed; checkpoints stay, deadlines go on. */
  pause: { from: ['submitted', ...leasedStates], to: 'paused', needsCode: true },
  resume: { from: ['paused'], to: 'submitted', needsCode: false },
  /** Another round of attempts, asked for while the escrow lives. */
  retry: { from: ['failed', 'refused'], to: 'submitted', needsCode: false },
  fail: { from: [...waitingStates, ...leasedStates], to: 'failed', needsCode: true },
  expire: { from: [...waitingStates, ...leasedStates], to: 'expired', needsCode: true },
  cancel: { from: [...waitingStates, ...leasedStates], to: 'cancelled', needsCode: true },
  /** The escrow ended otherwise than by paying for the delivery. */
  dispute: { from: ['delivered'], to: 'disputed', needsCode: true },
  /** The block that settled the job is no longer part of the chain. */
  reorganise: { from: ['settled'], to: 'delivered', needsCode: true },
} as const satisfies Record<string, Transition>;

export type JobTrigger = keyof typeof transitions;

/** States in which nothing is left to do by itself; a client may still ask for another try. */
export const endStates: readonly JobState[] = ['settled', 'refused', 'failed', 'expired', 'cancelled', 'disputed'];

/** @throws Rejection JOB_STATE when the trigger does not apply in this state */
export function nextState(state: JobState, trigger: JobTrigger): JobState {
  const transition: Transition = transitions[trigger];
  if (!transition.from.includes(state)) {
    throw refusal('JOB_STATE', {
      expected: `a job that is ${transition.from.join(' or ')}`,
      got: state,
      rule: 'apps/control-plane/README.md, job states',
      action: 'Read the job and act on the state it is in.',
    });
  }
  return transition.to;
}
