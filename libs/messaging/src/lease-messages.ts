/** Messages of one lease, from acquisition to delivery or failure. `fence` rises with every lease of a job. */
import { z } from 'zod';
import { Address, Code, Hex32, Signature, StepNumber, Uuid, base64, text, type TermsJson } from './fields.js';
import {
  attestationResultBytesMax,
  blobBytesMax,
  evidenceBytesMax,
  longPollMillisecondsMax,
  receiptBytesMax,
  sealBytesMax,
  segmentsMax,
  statementBytesMax,
} from './limits.js';
import { ApiKeyText } from './node-messages.js';

const lease = { auth: ApiKeyText, leaseId: Uuid, fence: z.int().min(1) };

export const LeaseAcquire = z.object({
  auth: ApiKeyText,
  nodeId: Uuid,
  waitMs: z.int().min(0).max(longPollMillisecondsMax),
});
export type LeaseAcquire = z.infer<typeof LeaseAcquire>;

/** A statement and the receipt over it, both base64. */
export const SignedStatement = z.object({
  statement: base64(statementBytesMax),
  receipt: base64(receiptBytesMax),
});
export type SignedStatement = z.infer<typeof SignedStatement>;

/** Where a successor goes on: the last checkpoint and every receipt up to it. */
export interface ResumePoint {
  readonly step: number;
  /** SHA-256 of the checkpoint's ciphertext. */
  readonly blob: string;
  readonly receipts: SignedStatement[];
}

export interface AssignedJob {
  readonly jobId: string;
  readonly escrowId: string;
  /** Base64 of the job spec's deterministic CBOR. */
  readonly spec: string;
  readonly terms: TermsJson;
  /** Base64 of the policy's canonical bytes. */
  readonly policy: string;
  readonly brokerUrl: string;
  readonly datasetManifest: unknown;
  readonly resume: ResumePoint | null;
}

export interface LeaseGrant {
  readonly leaseId: string;
  readonly fence: number;
  /** Unix seconds. */
  readonly expiresAt: number;
  readonly job: AssignedJob;
}
export type LeaseAcquired = LeaseGrant | null;

export const LeaseAttested = z.object({ ...lease, evidence: base64(evidenceBytesMax) });
export type LeaseAttested = z.infer<typeof LeaseAttested>;
export interface AppraisalAnswer {
  readonly tier: string;
  readonly checks: { readonly code: string; readonly status: string; readonly got: string; readonly rule: string }[];
}

export const LeaseKeyed = z.object({
  ...lease,
  release: z.object({
    /** Everything but the sealed key: what the broker signed, and by which account (settlement §3). */
    release: z.object({
      account: Address,
      job: Hex32,
      enclaveKey: Hex32,
      shardsDigest: Hex32,
      releaseSignature: Signature,
      key: Address,
      policy: Hex32,
      provider: Address,
      evidence: Hex32,
      notAfter: z.int().min(0),
      appraisalSignature: Signature,
    }),
    /** The broker's attestation result, EAR in COSE, base64. */
    result: base64(attestationResultBytesMax),
  }),
});
export type LeaseKeyed = z.infer<typeof LeaseKeyed>;

export const LeaseRunning = z.object(lease);
export type LeaseRunning = z.infer<typeof LeaseRunning>;

export const LeaseProgress = z.object({
  ...lease,
  step: StepNumber,
  of: StepNumber,
  loss: z.number().optional(),
  accuracy: z.number().min(0).max(1).optional(),
  samplesPerSecond: z.number().min(0).optional(),
});
export type LeaseProgress = z.infer<typeof LeaseProgress>;

export const LeaseCheckpoint = z.object({
  ...lease,
  /** Steps done when the checkpoint was taken. */
  step: StepNumber,
  ...SignedStatement.shape,
  blob: Hex32,
});
export type LeaseCheckpoint = z.infer<typeof LeaseCheckpoint>;

export const Delivery = z.object({
  /** `keyCommit` commits to the reveal key (settlement §12); without it the bundle waits for the chain to show the key. */
  result: z.object({ blob: Hex32, bytes: z.int().min(1).max(blobBytesMax), keyCommit: Hex32.optional() }),
  /** The run that the seal signs, settlement §3. */
  run: z.object({
    upTo: z.int().min(0).max(segmentsMax),
    outcome: z.union([z.literal(0), z.literal(1), z.literal(2)]),
    bordersRoot: Hex32,
    last: Hex32,
    delivery: Hex32,
  }),
  seal: base64(sealBytesMax),
  /** Borders 0…K as weights digests, settlement §2. */
  borders: z
    .array(Hex32)
    .min(2)
    .max(segmentsMax + 1),
  /** Statements with receipts that the control plane has not been given yet. */
  receipts: z.array(SignedStatement).max(segmentsMax),
  /** Seconds by phase. */
  timings: z.record(z.string().max(64), z.number().min(0)),
  transactions: z.array(z.object({ call: text(32), hash: Hex32 })).max(64),
});
export type Delivery = z.infer<typeof Delivery>;
export const LeaseDeliver = z.object({ ...lease, ...Delivery.shape });
export type LeaseDeliver = z.infer<typeof LeaseDeliver>;

export const LeaseFail = z.object({
  ...lease,
  code: Code,
  detail: text(1000),
  step: StepNumber.optional(),
  tensor: text(128).optional(),
  retry: z.boolean(),
});
export type LeaseFail = z.infer<typeof LeaseFail>;
