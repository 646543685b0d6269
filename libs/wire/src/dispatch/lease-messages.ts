/** Messages of one lease, from acquisition to delivery or failure. `fence` rises with every lease of a job. */
import { z } from 'zod';
import {
  Address,
  Code,
  Fence,
  Hex32,
  Signature,
  StepNumber,
  TermsJson,
  Uuid,
  base64,
  httpUrl,
  text,
} from './fields.js';
import {
  attestationResultBytesMax,
  attestorsMax,
  edgeFiguresMax,
  endorsementsBytesMax,
  evaluationBytesMax,
  evaluationsMax,
  evidenceBytesMax,
  logEntryBytesMax,
  loggedEntriesMax,
  logOpeningBytesMax,
  logProofCharactersMax,
  largeBlobBytesMax,
  longPollMillisecondsMax,
  policyBytesMax,
  receiptBytesMax,
  sealBytesMax,
  segmentsMax,
  specBytesMax,
  startPartsMax,
  statementBytesMax,
} from './limits.js';
import { ApiKeyText } from './node-messages.js';

const lease = { auth: ApiKeyText, leaseId: Uuid, fence: Fence };

export const LeaseAcquire = z.object({
  auth: ApiKeyText,
  nodeId: Uuid,
  waitMs: z.int().min(0).max(longPollMillisecondsMax),
  /** Leases in hand: another that this node was granted did not reach it, and is granted again. */
  holding: z.array(Uuid).max(64).optional(),
});
export type LeaseAcquire = z.infer<typeof LeaseAcquire>;

/** A statement and the receipt over it, both base64; without a TEE there is none, and the statement waits for its proof. */
export const SignedStatement = z.object({
  statement: base64(statementBytesMax),
  receipt: base64(receiptBytesMax),
});
export type SignedStatement = z.infer<typeof SignedStatement>;

/** Where a successor goes on: the last checkpoint and every receipt up to it. */
export const ResumePoint = z.object({
  step: StepNumber,
  /** SHA-256 of the checkpoint's ciphertext. */
  blob: Hex32,
  receipts: z.array(SignedStatement).max(segmentsMax),
});
export type ResumePoint = z.infer<typeof ResumePoint>;

export const AssignedJob = z.object({
  jobId: Hex32,
  escrowId: Hex32,
  /** The job spec's deterministic CBOR. */
  spec: base64(specBytesMax),
  terms: TermsJson,
  /** The policy's canonical bytes. */
  policy: base64(policyBytesMax),
  brokerUrl: httpUrl(2048),
  /** attestation's parseDatasetManifest decides what it means. */
  datasetManifest: z.unknown(),
  resume: ResumePoint.nullable(),
  /** SHA-256 of the parts of the weights that it starts from, in order; absent where the manifest's seed draws them. */
  start: z.array(Hex32).max(startPartsMax).optional(),
});
export type AssignedJob = z.infer<typeof AssignedJob>;

export const LeaseGrant = z.object({
  leaseId: Uuid,
  fence: Fence,
  /** Unix seconds. */
  expiresAt: z.int().min(0),
  job: AssignedJob,
});
export type LeaseGrant = z.infer<typeof LeaseGrant>;
/** Answer to LeaseAcquire; null: nothing to do. */
export const LeaseAcquired = LeaseGrant.nullable();
export type LeaseAcquired = z.infer<typeof LeaseAcquired>;

/** Evidence, and what the key broker's verdict on it rested on, canonical CBOR. */
const judged = { evidence: base64(evidenceBytesMax), endorsements: base64(endorsementsBytesMax) };

export const LeaseAttested = z.object({ ...lease, ...judged });
export type LeaseAttested = z.infer<typeof LeaseAttested>;
export interface AppraisalAnswer {
  readonly tier: string;
  readonly checks: { readonly code: string; readonly status: string; readonly got: string; readonly rule: string }[];
}

const UnixSeconds = z
  .int()
  .min(0)
  .max(2 ** 40 - 1);

/** The broker's attestation result, EAR in COSE, base64; and its account's signature over `resultDigest`. */
const result = { result: base64(attestationResultBytesMax), resultSignature: Signature };

const LoggedEntry = z.object({
  entry: base64(logEntryBytesMax),
  opening: z.object({ salt: Hex32, body: base64(logOpeningBytesMax) }).nullable(),
  /** tlog-proof. */
  proof: z.string().max(logProofCharactersMax),
});

/** What the broker logged before it released a key, and what says that it may: attestation/LOG.md §4. */
export const LoggedEntries = z.array(LoggedEntry).max(loggedEntriesMax);
export type LoggedEntries = z.infer<typeof LoggedEntries>;

/** What the key broker gave a session, without the sealed key. */
export const KeyReleased = z.object({
  /** The struct of contracts/SPEC.md §3 that the broker signed. */
  release: z.object({
    ...{ job: Hex32, provider: Address, dataset: Hex32, session: Hex32, key: Address, policy: Hex32 },
    ...{ evidence: Hex32, grant: Hex32, nonce: Hex32, grantedAt: UnixSeconds, notAfter: UnixSeconds },
  }),
  releaseSignature: Signature,
  ...result,
  /** By attestors that the terms name: digest of the evidence that each appraised, end, and signature. */
  appraisals: z.array(z.object({ evidence: Hex32, notAfter: UnixSeconds, signature: Signature })).max(attestorsMax),
  logged: LoggedEntries.optional(),
});
export type KeyReleased = z.infer<typeof KeyReleased>;

export const LeaseKeyed = z.object({ ...lease, release: KeyReleased });
export type LeaseKeyed = z.infer<typeof LeaseKeyed>;

/** Fresh evidence of a session at work, and what the key broker signed about it. */
export const RenewedSession = z.object({
  ...judged,
  /** The Lease of contracts/SPEC.md §3; its other fields follow from evidence and job. */
  lease: z.object({ grantedAt: UnixSeconds, notAfter: UnixSeconds, signature: Signature }),
  ...result,
});
export type RenewedSession = z.infer<typeof RenewedSession>;

export const LeaseRenewed = z.object({ ...lease, ...RenewedSession.shape });
export type LeaseRenewed = z.infer<typeof LeaseRenewed>;

/** A lease that the control plane has lost, whose run the chain has: what let its session in, told once more. */
export const LeaseRestore = z.object({
  ...lease,
  jobId: Hex32,
  nodeId: Uuid,
  /** Digest of the delivery that the run committed to. */
  delivery: Hex32,
  ...judged,
  release: KeyReleased,
});
export type LeaseRestore = z.infer<typeof LeaseRestore>;
/** The fence that the lease has from now on. */
export const LeaseRestored = z.object({ fence: Fence });
export type LeaseRestored = z.infer<typeof LeaseRestored>;

/** A node without a TEE was given the data key: the broker knows its account and the job is one that is proved. */
export const LeaseEntrusted = z.object({ ...lease, logged: LoggedEntries.optional() });
export type LeaseEntrusted = z.infer<typeof LeaseEntrusted>;

export const LeaseRunning = z.object(lease);
export type LeaseRunning = z.infer<typeof LeaseRunning>;

const Count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Elements of an edge that were looked at, those at an end of their range, and errors of 0. */
const EdgeFigures = z.object({
  edge: text(80),
  values: Count,
  saturatedValues: Count,
  errors: Count,
  saturatedErrors: Count,
  zeroErrors: Count,
});

/** What a node says of the steps since it spoke last; without a TEE of the steps alone. */
export const trainingFigures = {
  loss: z.number().optional(),
  accuracy: z.number().min(0).max(1).optional(),
  samplesPerSecond: z.number().min(0).optional(),
  edges: z.array(EdgeFigures).max(edgeFiguresMax).optional(),
};

export const LeaseProgress = z.object({
  ...lease,
  step: StepNumber,
  of: StepNumber,
  ...trainingFigures,
});
export type LeaseProgress = z.infer<typeof LeaseProgress>;

/** From 0 to 2^128 − 1, decimal. */
const Measure = z.string().regex(/^(0|[1-9][0-9]{0,38})$/);

/** Metrics on the validation set, as the enclave measured them while it trains; the delivery brings what shows them. */
export const LeaseEvaluation = z.object({
  ...lease,
  /** Steps done. */
  step: StepNumber,
  metrics: z.array(z.object({ metric: text(32), numerator: Measure, denominator: Measure })).max(16),
});
export type LeaseEvaluation = z.infer<typeof LeaseEvaluation>;

export const LeaseCheckpoint = z.object({
  ...lease,
  /** Steps done when the checkpoint was taken. */
  step: StepNumber,
  ...SignedStatement.shape,
  blob: Hex32,
});
export type LeaseCheckpoint = z.infer<typeof LeaseCheckpoint>;

export const Delivery = z.object({
  /**
   * `blob` is the ciphertext's SHA-256; `ciphertextDigest` and `keyCommit` are what the seal is over
   * (contracts/SPEC.md §12).
   */
  result: z.object({
    ...{ blob: Hex32, bytes: z.int().min(1).max(largeBlobBytesMax) },
    ...{ ciphertextDigest: Hex32, keyCommit: Hex32 },
  }),
  /** The run that the seal signs, contracts/SPEC.md §3. */
  run: z.object({
    upTo: z.int().min(0).max(segmentsMax),
    outcome: z.union([z.literal(0), z.literal(1), z.literal(2), z.literal(3)]),
    bordersRoot: Hex32,
    last: Hex32,
    delivery: Hex32,
    /** Zero where nobody sealed. */
    keys: Hex32,
  }),
  seal: base64(sealBytesMax),
  /** Borders 0…K as weights digests, contracts/SPEC.md §2. */
  borders: z
    .array(Hex32)
    .min(2)
    .max(segmentsMax + 1),
  /** Statements with receipts that the control plane has not been given yet. */
  receipts: z.array(SignedStatement).max(segmentsMax),
  /** Of a job that evaluates: its statements in the order of their steps, each with the receipt key of who signed it. */
  evaluations: z
    .array(z.object({ key: Hex32, statement: base64(evaluationBytesMax), receipt: base64(receiptBytesMax) }))
    .max(evaluationsMax)
    .optional(),
  /** Seconds by phase. */
  timings: z.record(text(64), z.number().min(0)),
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
