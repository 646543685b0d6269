/** Watches a job until it is where the caller wants it, or at its end. */
import { Rejection } from '#attestation/base';
import type { ControlPlaneApi, ServerEvent } from './api.js';

/** What an enclave counted on an edge of the net: elements, those at an end of their range, and errors of 0. */
export interface EdgeFigures {
  readonly edge: string;
  readonly values: number;
  readonly saturatedValues: number;
  readonly errors: number;
  readonly saturatedErrors: number;
  readonly zeroErrors: number;
}

export interface JobView {
  readonly id: string;
  readonly state: string;
  readonly code: string | null;
  readonly reason: Readonly<Record<string, unknown>> | null;
  /** Absent in answers of an older control plane. */
  readonly saidBy?: string | null;
  readonly escrowId: string;
  readonly escrowState: string;
  readonly funded: boolean;
  readonly datasetId: string;
  readonly steps: number;
  readonly attempt: number;
  /** Why no node that is online can take it; null: one can; absent where nobody looked. */
  readonly unplaced?: string | null;
  readonly progress: {
    readonly step: number;
    readonly of: number;
    readonly loss: number | null;
    readonly accuracy: number | null;
    readonly samplesPerSecond: number | null;
    /** Absent in answers of an older control plane; null where the node counted nothing. */
    readonly edges?: readonly EdgeFigures[] | null;
  } | null;
  readonly settlementTransaction: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

const endStates = ['settled', 'refused', 'failed', 'expired', 'cancelled', 'disputed'];

export function isEnded(state: string): boolean {
  return endStates.includes(state);
}

/**
 * @param wanted  states to return in; empty: any end
 * @throws Rejection JOB_ENDED with the job's own code when it ends elsewhere
 */
export async function followJob(
  jobId: string,
  api: ControlPlaneApi,
  onEvent: (event: ServerEvent) => void,
  wanted: readonly string[] = [],
): Promise<JobView> {
  const targets = wanted.length === 0 ? endStates : wanted;
  const stop = new AbortController();
  let job = await api.get<JobView>(`jobs/${jobId}`);
  if (!targets.includes(job.state) && !endStates.includes(job.state)) {
    await api.events(
      `jobs/${jobId}/events`,
      (event) => {
        onEvent(event);
        if (stateOf(event) !== null && targets.includes(stateOf(event)!)) stop.abort();
      },
      async () => endStates.includes((await api.get<JobView>(`jobs/${jobId}`)).state),
      stop.signal,
    );
    job = await api.get<JobView>(`jobs/${jobId}`);
  }
  if (wanted.length === 0 || wanted.includes(job.state) || job.state === 'settled') return job;
  throw new Rejection(job.code ?? 'JOB_ENDED', {
    expected: `the job to be ${wanted.join(' or ')}`,
    got: `${job.state}${job.reason === null ? '' : `: ${claim(job.saidBy)}${JSON.stringify(job.reason)}`}`,
    rule: 'job states',
    action: 'read the reason; money in escrow goes back as contracts/SPEC.md §9 says',
  });
}

/** Before a code or a reason that is a node's word alone. */
export function claim(saidBy: unknown): string {
  return saidBy === 'node' ? 'the node says ' : '';
}

/** The state that a `state` event leads to. */
function stateOf({ type, data }: ServerEvent): string | null {
  return type === 'state' ? String((data as { to: unknown }).to) : null;
}
