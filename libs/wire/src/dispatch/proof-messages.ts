/** Messages about the segments of a job that are to be proved. Several nodes may prove segments of one job at a time. */
import { z } from 'zod';
import { Code, Fence, Hex32, Uuid, base64, text } from './fields.js';
import { AssignedJob, LoggedEntries } from './lease-messages.js';
import { longPollMillisecondsMax, proofDocumentCharactersMax, segmentsMax, statementBytesMax } from './limits.js';
import { ApiKeyText } from './node-messages.js';

/** One node's claim on one segment; `fence` rises with every claim of that segment. */
export const ProofRef = z.object({
  nodeId: Uuid,
  jobId: Hex32,
  index: z.int().min(0).max(segmentsMax),
  fence: Fence,
});
export type ProofRef = z.infer<typeof ProofRef>;

const task = { auth: ApiKeyText, ...ProofRef.shape };

export const ProofAcquire = z.object({
  auth: ApiKeyText,
  nodeId: Uuid,
  waitMs: z.int().min(0).max(longPollMillisecondsMax),
  /** Segments of this job alone. */
  jobId: Hex32.optional(),
  /** Asks how many are left and claims none. */
  countOnly: z.boolean().default(false),
  /** Of the asked job's provider, whose stake is for all proofs: segments whose proofs this node has. */
  holding: z.array(z.int().min(0).max(segmentsMax)).max(segmentsMax).optional(),
  /** With `holding`: claims over what another node has claimed or proved. */
  insists: z.boolean().default(false),
});
export type ProofAcquire = z.infer<typeof ProofAcquire>;

export const ProofTask = z.object({
  ...ProofRef.omit({ nodeId: true }).shape,
  /** Unix seconds; progress prolongs it. */
  expiresAt: z.int().min(0),
  job: AssignedJob,
  /** What is to be shown. */
  statement: base64(statementBytesMax),
  /** SHA-256 of the checkpoint that the segment starts from; null: the start weights. */
  checkpoint: Hex32.nullable(),
});
export type ProofTask = z.infer<typeof ProofTask>;

/** A proof that another node brought. */
const ProofElsewhere = z.object({
  index: z.int().min(0).max(segmentsMax),
  /** SHA-256 of the proof bundle. */
  blob: Hex32,
  document: z.string().max(proofDocumentCharactersMax),
});
export type ProofElsewhere = z.infer<typeof ProofElsewhere>;

/** `elsewhere`: one that the asking provider lacks. `left`: segments of the asked job that nobody has proved yet; null where no job was asked for. */
export const ProofAcquired = z.object({
  task: ProofTask.nullable(),
  elsewhere: ProofElsewhere.nullable().default(null),
  left: z.int().min(0).nullable(),
});
export type ProofAcquired = z.infer<typeof ProofAcquired>;

export const ProofPhase = z.enum(['load', 'execute', 'commit', 'prove']);
export type ProofPhase = z.infer<typeof ProofPhase>;

export const ProofProgress = z.object({
  ...task,
  phase: ProofPhase,
  percent: z.int().min(0).max(100),
  etaSeconds: z.int().min(0).nullable(),
});
export type ProofProgress = z.infer<typeof ProofProgress>;

/** False: the claim went to somebody else, or the job has ended. Stop. */
export const ProofHeld = z.object({ held: z.boolean() });
export type ProofHeld = z.infer<typeof ProofHeld>;

export const ProofDeliver = z.object({
  ...task,
  /** SHA-256 of the uploaded proof bundle with this one proof. */
  blob: Hex32,
  /** Text of its statement document (libs/proof/SPEC.md §2). */
  document: z.string().max(proofDocumentCharactersMax),
  /** Of the key that the node was given to prove. */
  logged: LoggedEntries.optional(),
});
export type ProofDeliver = z.infer<typeof ProofDeliver>;

/** The claim is given back. */
export const ProofFail = z.object({ ...task, code: Code, detail: text(1000) });
export type ProofFail = z.infer<typeof ProofFail>;
