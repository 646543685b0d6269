/** Messages about the segments of a data-parallel job, which several nodes of one provider train at a time. */
import { z } from 'zod';
import { Code, Fence, Hex32, StepNumber, Uuid, base64, text } from './fields.js';
import { AssignedJob, KeyReleased, RenewedSession, SignedStatement, trainingFigures } from './lease-messages.js';
import { endorsementsBytesMax, evidenceBytesMax, longPollMillisecondsMax, segmentsMax, workersMax } from './limits.js';
import { ApiKeyText } from './node-messages.js';

/** One node's claim on one segment; `fence` rises with every claim of that segment. */
export const SegmentRef = z.object({
  nodeId: Uuid,
  jobId: Hex32,
  index: z
    .int()
    .min(0)
    .max(segmentsMax * workersMax),
  fence: Fence,
});
export type SegmentRef = z.infer<typeof SegmentRef>;

const task = { auth: ApiKeyText, ...SegmentRef.shape };

export const SegmentAcquire = z.object({
  auth: ApiKeyText,
  nodeId: Uuid,
  waitMs: z.int().min(0).max(longPollMillisecondsMax),
  /** Segments of this job alone. */
  jobId: Hex32.optional(),
  /** The asker averages: it is told when the round is complete instead of waiting for the next. */
  leads: z.boolean().default(false),
});
export type SegmentAcquire = z.infer<typeof SegmentAcquire>;

export const SegmentTask = z.object({
  ...SegmentRef.omit({ nodeId: true }).shape,
  /** Unix seconds; progress prolongs it. */
  expiresAt: z.int().min(0),
  /** SHA-256 of the checkpoint that its round starts from; null: the start weights. */
  checkpoint: Hex32.nullable(),
  job: AssignedJob,
});
export type SegmentTask = z.infer<typeof SegmentTask>;

/** A round whose partials are all there. */
export const CompleteRound = z.object({
  checkpoint: Hex32.nullable(),
  /** SHA-256 of the sealed partials, in the order of the workers. */
  partials: z.array(Hex32).min(2).max(workersMax),
});
export type CompleteRound = z.infer<typeof CompleteRound>;

export const SegmentAcquired = z.object({
  task: SegmentTask.nullable(),
  round: CompleteRound.nullable(),
  /** The asked job gives out no segments: it has ended, or waits for a lease; false where none was asked for. */
  over: z.boolean(),
});
export type SegmentAcquired = z.infer<typeof SegmentAcquired>;

/** A session that works on segments of the job: its evidence, and what the key broker gave it. */
export const SegmentJoin = z.object({
  auth: ApiKeyText,
  nodeId: Uuid,
  jobId: Hex32,
  evidence: base64(evidenceBytesMax),
  endorsements: base64(endorsementsBytesMax),
  release: KeyReleased,
});
export type SegmentJoin = z.infer<typeof SegmentJoin>;

export const SegmentJoined = z.object({ workerId: Uuid });
export type SegmentJoined = z.infer<typeof SegmentJoined>;

/** The same session, attested anew. */
export const SegmentRenewed = z.object({
  auth: ApiKeyText,
  nodeId: Uuid,
  jobId: Hex32,
  workerId: Uuid,
  ...RenewedSession.shape,
});
export type SegmentRenewed = z.infer<typeof SegmentRenewed>;

export const SegmentProgress = z.object({
  ...task,
  /** Steps of the segment that are done. */
  step: StepNumber,
  ...trainingFigures,
});
export type SegmentProgress = z.infer<typeof SegmentProgress>;

/** False: the claim went to somebody else, or the job has ended. Stop. */
export const SegmentHeld = z.object({ held: z.boolean() });
export type SegmentHeld = z.infer<typeof SegmentHeld>;

export const SegmentDeliver = z.object({
  ...task,
  /** The session that signed. */
  workerId: Uuid,
  ...SignedStatement.shape,
  /** SHA-256 of the uploaded sealed partial. */
  blob: Hex32,
});
export type SegmentDeliver = z.infer<typeof SegmentDeliver>;

/** The claim is given back. */
export const SegmentFail = z.object({ ...task, code: Code, detail: text(1000) });
export type SegmentFail = z.infer<typeof SegmentFail>;
