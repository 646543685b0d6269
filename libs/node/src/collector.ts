/** Takes every escrow of a node step by step to its end; survives restarts because the escrows are on disk. */
import type { NodeWatch } from '#libs/telemetry';
import { pause } from './held-leases.js';
import { note } from './note.js';

const pauseMs = 250;
const pauseMsMax = 5000;
const retryPauseMs = 1000;
const retryPauseMsMax = 30_000;

interface Collection {
  /** Job ids of the escrows on disk; what a lease in hand still works on is left to that lease. */
  jobs(): readonly string[];
  isInHand(jobId: string): boolean;
  /** Takes the next step of an escrow. @returns its name; 'wait' where nothing could be done yet */
  collect(jobId: string): Promise<string>;
  readonly watch: Pick<NodeWatch, 'event' | 'failure' | 'escrows'>;
}

/**
 * An escrow that is slow or fails keeps no other waiting. One in which nothing happens is looked at less and less often: a
 * node with many escrows would do nothing else.
 */
export async function collectAll({ jobs, isInHand, collect, watch }: Collection, stop: AbortSignal): Promise<void> {
  const busy = new Map<string, Promise<void>>();
  const failures = new Map<string, number>();
  const quietSince = new Map<string, number>();
  async function next(jobId: string): Promise<void> {
    try {
      const step = await collect(jobId);
      failures.delete(jobId);
      const now = performance.now();
      if (step !== 'wait') {
        watch.event('escrow-step', { job: jobId, step });
        quietSince.delete(jobId);
      } else if (!quietSince.has(jobId)) quietSince.set(jobId, now);
      const quietMs = now - (quietSince.get(jobId) ?? now);
      await pause(Math.min(Math.max(pauseMs, quietMs / 4), pauseMsMax), stop);
    } catch (error) {
      watch.failure('escrow');
      note(`collect ${jobId}`, error);
      const failed = failures.get(jobId) ?? 0;
      failures.set(jobId, failed + 1);
      await pause(Math.min(retryPauseMs * 2 ** failed, retryPauseMsMax), stop);
    } finally {
      busy.delete(jobId);
    }
  }
  while (!stop.aborted) {
    const open = jobs();
    watch.escrows(open.length);
    for (const jobId of open) if (!busy.has(jobId) && !isInHand(jobId)) busy.set(jobId, next(jobId));
    await pause(pauseMs, stop);
  }
  await Promise.all(busy.values());
}
