/** What a job looks like from outside. */
import { z } from 'zod';
import type { Job } from '#libs/persistence';
import { Hex32, JobRequirements } from '#libs/wire';
import { attestedStates, jobStates } from './state-machine.js';

/**
 * What the enclave counted on an edge of the net, in some records of every batch: elements, those at an end of their range,
 * and errors of 0. Whole numbers, beyond 32 bits too.
 */
export const EdgeFiguresView = z
  .object({
    edge: z.string(),
    values: z.number(),
    saturatedValues: z.number(),
    errors: z.number(),
    saturatedErrors: z.number(),
    zeroErrors: z.number(),
  })
  .meta({ id: 'EdgeFigures' });

export const ProgressView = z
  .object({
    step: z.int(),
    of: z.int(),
    loss: z.number().nullable(),
    accuracy: z.number().nullable(),
    samplesPerSecond: z.number().nullable(),
    /** As the spec's `progress` lets it out; of a node without a TEE, and of older events, there is none. */
    edges: z.array(EdgeFiguresView).nullable().optional(),
    at: z.iso.datetime(),
  })
  .meta({ id: 'Progress' });
export type ProgressView = z.infer<typeof ProgressView>;

const speakers = ['control-plane', 'node'] as const;

export const assuranceKinds = z.enum(['tee', 'zk', 'tee+zk', 'sampled']);

export const JobView = z
  .object({
    id: Hex32,
    state: z.enum(jobStates),
    /** Why the job waits or how it ended. */
    code: z.string().nullable(),
    reason: z.record(z.string(), z.unknown()).nullable(),
    /** Whose word code and reason are: what a node says is its claim, and was not looked into. null without a code. */
    saidBy: z.enum(speakers).nullable(),
    /** No node is given the job earlier. */
    notBefore: z.iso.datetime().nullable(),
    escrowId: Hex32,
    escrowState: z.string(),
    funded: z.boolean(),
    datasetId: Hex32,
    assurance: assuranceKinds,
    steps: z.int(),
    attempt: z.int(),
    priority: z.int(),
    requirements: JobRequirements,
    /**
     * Why no node that is online can take the job; null: one can, as far as it says of itself. Told when a job is submitted,
     * and while it waits when it is read by its id.
     */
    unplaced: z.string().nullable().optional(),
    progress: ProgressView.nullable(),
    /** Until when the attestation of the session at work counts; null where none is at work. */
    attestedUntil: z.iso.datetime().nullable(),
    settlementTransaction: z.string().nullable(),
    acceptBy: z.iso.datetime(),
    deadline: z.iso.datetime(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Job' });
export type JobView = z.infer<typeof JobView>;

export const JobPage = z.object({ items: z.array(JobView), nextCursor: z.string().nullable() }).meta({ id: 'JobPage' });

/** @param reason  of a job or an event; older ones of a node are known by a member that no other has */
export function speakerOf(code: string | null, reason: unknown): (typeof speakers)[number] | null {
  if (code === null) return null;
  const isObject = typeof reason === 'object' && reason !== null;
  const isOfNode = isObject && ((reason as { saidBy?: unknown }).saidBy === 'node' || 'tensor' in reason);
  return isOfNode ? 'node' : 'control-plane';
}

function attestedUntil({ state, attestedUntil: until }: Job): string | null {
  const isAtWork = (attestedStates as readonly string[]).includes(state);
  return isAtWork && until !== null ? until.toISOString() : null;
}

export function jobView(job: Job): JobView {
  return {
    id: job.id,
    state: job.state as JobView['state'],
    code: job.code,
    reason: job.reason as JobView['reason'],
    saidBy: speakerOf(job.code, job.reason),
    notBefore: job.notBefore?.toISOString() ?? null,
    escrowId: job.escrowId,
    escrowState: job.escrowState,
    funded: job.funded,
    datasetId: job.datasetId,
    assurance: job.assurance as JobView['assurance'],
    steps: Number(job.steps),
    attempt: job.attempt,
    priority: job.priority,
    requirements: job.requirements as JobRequirements,
    progress: job.progress as ProgressView | null,
    attestedUntil: attestedUntil(job),
    settlementTransaction: job.settlementTransaction,
    acceptBy: job.acceptByAt.toISOString(),
    deadline: job.deadlineAt.toISOString(),
    createdAt: job.createdAt.toISOString(),
    updatedAt: job.updatedAt.toISOString(),
  };
}
