/** Hands segments of data-parallel jobs to workers: a long poll that ends with a task, with a complete round, or with nothing. */
import { Injectable } from '@nestjs/common';
import type { NodeRecord } from '#libs/persistence';
import type { SegmentAcquire, SegmentAcquired } from '#libs/wire';
import type { Principal } from '../core/auth/principal.js';
import { dispatchTopic, Signals } from '../core/timing/signals.js';
import { Presences } from '../nodes/presences.js';
import { Assignment } from './assignment.js';
import { SegmentStore, type ClaimedSegment } from './segment-store.js';

const lookAgainMilliseconds = 1000;
const nothing: SegmentAcquired = { task: null, round: null, over: false };

@Injectable()
export class SegmentAssignment {
  constructor(
    private readonly assignment: Assignment,
    private readonly store: SegmentStore,
    private readonly presences: Presences,
    private readonly signals: Signals,
  ) {}

  /** @throws Rejection NODE_UNKNOWN, JOB_UNKNOWN, PARALLEL_PROVIDER */
  async acquire(principal: Principal, message: SegmentAcquire, gone: AbortSignal): Promise<SegmentAcquired> {
    const until = performance.now() + message.waitMs;
    const { node } = await this.presences.of(principal, message.nodeId);
    for (;;) {
      const left = until - performance.now();
      const woken = this.signals.wait(dispatchTopic, Math.max(0, Math.min(left, lookAgainMilliseconds)), gone);
      const answer = gone.aborted ? nothing : await this.look(node, message);
      const isAnswer = answer.task !== null || answer.round !== null || answer.over;
      if (isAnswer || left <= 0 || gone.aborted) return answer;
      await woken;
    }
  }

  private async look(node: NodeRecord, { jobId, leads }: SegmentAcquire): Promise<SegmentAcquired> {
    const claim = node.state === 'ready' || leads ? await this.store.claim(node, jobId) : null;
    if (claim !== null) return { task: await this.describe(claim), round: null, over: false };
    if (jobId === undefined) return nothing;
    const job = await this.store.job(jobId);
    if (job.state !== 'running') return { task: null, round: null, over: true };
    return { task: null, round: leads ? await this.store.complete(job) : null, over: false };
  }

  private async describe({ job, claim, checkpoint }: ClaimedSegment) {
    return { ...claim, checkpoint, job: await this.assignment.describeJob(job, null) };
  }
}
