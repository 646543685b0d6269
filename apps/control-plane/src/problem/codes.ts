/** Failures that the control plane itself names, each with its HTTP status, and the status of every other family. */
import { Rejection, type CodedError, type Explanation } from '#attestation';

const statusOfCode = {
  REQUEST_MALFORMED: 400,
  JSON_MALFORMED: 400,
  JSON_DEPTH: 400,
  CURSOR_MALFORMED: 400,
  IDEMPOTENCY_KEY_MISSING: 400,
  AUTH_MISSING: 401,
  AUTH_UNKNOWN: 401,
  ROLE_FORBIDDEN: 403,
  NODE_PROVIDER: 403,
  ROUTE_UNKNOWN: 404,
  DATASET_UNKNOWN: 404,
  SHARD_UNKNOWN: 404,
  BLOB_UNKNOWN: 404,
  JOB_UNKNOWN: 404,
  NODE_UNKNOWN: 404,
  LEASE_UNKNOWN: 404,
  DATASET_DUPLICATE: 409,
  JOB_DUPLICATE: 409,
  JOB_STATE: 409,
  JOB_RESULT_PENDING: 409,
  JOB_BUNDLE_PENDING: 409,
  IDEMPOTENCY_IN_PROGRESS: 409,
  LEASE_FENCED: 409,
  CHECKPOINT_CONFLICT: 409,
  BODY_OVERSIZE: 413,
  BLOB_QUOTA: 413,
  MEDIA_TYPE: 415,
  IDEMPOTENCY_MISMATCH: 422,
  SHARD_DIGEST: 422,
  BLOB_DIGEST: 422,
  JOB_DATASET_UNKNOWN: 422,
  JOB_DATASET_INCOMPLETE: 422,
  JOB_DATASET_MISMATCH: 422,
  JOB_ASSURANCE: 422,
  JOB_POLICY_DIGEST: 422,
  JOB_MANIFEST_CANONICAL: 422,
  JOB_TERMS_SPEC: 422,
  JOB_TERMS_POLICY: 422,
  JOB_TERMS_SEGMENTS: 422,
  JOB_SETTLEMENT_CONTRACT: 422,
  JOB_DEADLINE_PAST: 422,
  STATEMENT_MISMATCH: 422,
  CHECKPOINT_GAP: 422,
  RELEASE_SIGNATURE: 422,
  RECEIPT_KEY_UNKNOWN: 422,
  DELIVERY_INCOMPLETE: 422,
  DELIVERY_BORDERS: 422,
  DELIVERY_RUN: 422,
  RATE_LIMITED: 429,
  DATABASE_UNAVAILABLE: 503,
  INTERNAL: 500,
} as const;

export type ApiCode = keyof typeof statusOfCode;

/** The failure of a request, by a code of the table above. */
export function refusal(code: ApiCode, detail: Explanation): Rejection {
  return new Rejection(code, detail);
}

export function statusOf(error: CodedError): number {
  if (Object.hasOwn(statusOfCode, error.code)) return statusOfCode[error.code as ApiCode];
  switch (error.family) {
    case 'configuration':
      return 400;
    case 'collateral':
      return 503;
    case 'rejection':
      return 422;
  }
}
