/** Leases in hand, and the heartbeats that keep them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeWatch } from '#libs/telemetry';
import type { LeaseGrant, NodeRegistered } from '#libs/wire';
import type { ControlPlane } from './control-plane.js';
import { beat, type NodeOffer } from './heartbeat.js';
import { note } from './note.js';

const beatWithinMsMin = 1000;

interface HeldLease {
  readonly grant: LeaseGrant;
  cancel(): void;
}

export interface HeldLeases {
  readonly size: number;
  ids(): string[];
  /** @param jobId  0x-hexadecimal */
  hasJob(jobId: string): boolean;
  /** Holds a lease while `work` goes on. @param cancel  is called when the control plane cancels or has lost the lease */
  hold(grant: LeaseGrant, cancel: () => void, work: () => Promise<void>): Promise<void>;
  /** For a heartbeat. */
  refs(): { leaseId: string; fence: number }[];
  cancel(leaseId: string): void;
  /** Whatever lease works on the job. */
  cancelJob(jobId: string): void;
}

export function createHeldLeases(watch: Pick<NodeWatch, 'leases'>): HeldLeases {
  const held = new Map<string, HeldLease>();
  return {
    get size() {
      return held.size;
    },
    ids: () => [...held.keys()],
    hasJob: (jobId) => [...held.values()].some(({ grant }) => grant.job.jobId === jobId),
    async hold(grant, cancel, work) {
      held.set(grant.leaseId, { grant, cancel });
      watch.leases(held.size);
      try {
        await work();
      } finally {
        held.delete(grant.leaseId);
        watch.leases(held.size);
      }
    },
    refs: () => [...held.values()].map(({ grant: { leaseId, fence } }) => ({ leaseId, fence })),
    cancel: (leaseId) => held.get(leaseId)?.cancel(),
    cancelJob(jobId) {
      for (const { grant, cancel } of held.values()) if (grant.job.jobId === jobId) cancel();
    },
  };
}

interface BeatParts {
  readonly controlPlane: Pick<ControlPlane, 'send'>;
  readonly watch: Pick<NodeWatch, 'depends' | 'failure'>;
}

/**
 * Sends a heartbeat every `heartbeatSeconds`, and cancels the leases that the answer names.
 *
 * @param ended  aborted when no lease is in hand any more: a node that is to stop keeps those that it works on
 */
export async function keepBeating(
  { nodeId, heartbeatSeconds }: Pick<NodeRegistered, 'nodeId' | 'heartbeatSeconds'>,
  offer: NodeOffer,
  held: HeldLeases,
  { controlPlane, watch }: BeatParts,
  ended: AbortSignal,
): Promise<void> {
  // A heartbeat that gets lost is not sent again: the next one follows.
  const patience = { attempts: 1, answerWithinMs: Math.max(1000 * heartbeatSeconds, beatWithinMsMin) };
  for (;;) {
    await pause(1000 * heartbeatSeconds, ended);
    if (ended.aborted) return;
    try {
      const answer = await beat(controlPlane, offer, { nodeId, leases: held.refs() }, patience);
      watch.depends('controlPlane', true);
      for (const leaseId of [...answer.cancel, ...answer.lost]) held.cancel(leaseId);
    } catch (error) {
      watch.depends('controlPlane', false);
      watch.failure('heartbeat');
      note('heartbeat', error);
    }
  }
}

/** Waits, but no longer than until `stop`. */
export async function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  await sleep(milliseconds, null, { signal: stop }).catch(() => null);
}
