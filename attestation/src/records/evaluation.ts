/**
 * What an enclave measured on the validation set at one step, in exact integers: the evaluation statement. Its receipt is
 * of a kind of its own, so that no receipt over steps stands in for one.
 */
import { uintBe, uintFromBe } from '../base/bytes.js';
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { taggedDigest, type Digest } from '../base/digest.js';
import { evaluationBytesMax } from '../base/limits.js';
import {
  bytes,
  checkLength,
  list,
  nullable,
  oneOf,
  record,
  toCbor,
  uint,
  type Field,
  type Shaped,
} from '../base/shape.js';
import { signStatement, verifySigned } from './receipt.js';

const evaluationContentType = 'application/veritrain-evaluation-statement-digest';
const measureBytes = 16;

/** `higher` and `lower`: which is better. The numerator of the first is at most its denominator. */
export const metricKinds = {
  accuracy: 'higher',
  'exact-match': 'higher',
  'label-accuracy': 'higher',
  auc: 'higher',
  loss: 'lower',
  sse: 'lower',
  sae: 'lower',
} as const;

export type Metric = keyof typeof metricKinds;

const metric = oneOf(...(Object.keys(metricKinds) as Metric[]));

/** An integer from 0 to 2^128 − 1, as 16 bytes, big-endian. */
const measure: Field<bigint> = (value, path) => uintFromBe(bytes(measureBytes)(value, path));

const steps = uint(2 ** 40, 1);

const evaluationShape = {
  version: oneOf(1),
  jobId: bytes(32),
  /** Digest of the manifest. */
  programDigest: bytes(32),
  /** The validation set's root, as the spec has it. */
  validationRoot: bytes(32),
  /** Steps that are done. */
  step: steps,
  /** weightsDigest of what was measured: the border that stands at this step; inside a segment, in scheme `state-keccak`. */
  weights: bytes(32),
  /** In the order of the manifest. */
  metrics: list(record({ metric, numerator: measure, denominator: measure }), Object.keys(metricKinds).length),
  /** In a job with the rule `stop`, its last evaluation alone: why it ended, and the step and border that is delivered. */
  end: nullable(record({ reason: oneOf('completed', 'stopped'), step: steps, weights: bytes(32) })),
};

export type EvaluationStatement = Shaped<typeof evaluationShape>;

/** @throws RangeError where a measure is below 0, or 2^128 or more */
export function encodeEvaluation(statement: EvaluationStatement): Uint8Array {
  const metrics = statement.metrics.map((one) => ({
    metric: one.metric,
    numerator: uintBe(one.numerator, measureBytes),
    denominator: uintBe(one.denominator, measureBytes),
  }));
  return encodeCanonical(toCbor({ ...statement, metrics }));
}

/** @throws Rejection MESSAGE_SIZE, CBOR_*, MESSAGE_SHAPE */
export function parseEvaluation(encoded: Uint8Array): EvaluationStatement {
  checkLength('evaluation statement', encoded, evaluationBytesMax);
  return record(evaluationShape)(decodeCanonical(encoded), 'evaluation');
}

function evaluationDigest(statement: EvaluationStatement): Digest {
  return taggedDigest('veritrain/evaluation-statement/v1', encodeEvaluation(statement));
}

/** @param sign Ed25519 over the Sig_structure, by the key whose public half is `receiptKey` */
export function signEvaluation(
  statement: EvaluationStatement,
  receiptKey: Uint8Array,
  sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  return signStatement(evaluationContentType, evaluationDigest(statement), receiptKey, sign);
}

/** @throws Rejection COSE_*, CBOR_*, RECEIPT_STATEMENT */
export function verifyEvaluation(
  receipt: Uint8Array,
  statement: EvaluationStatement,
  receiptKey: Uint8Array,
): Promise<void> {
  return verifySigned(receipt, evaluationContentType, evaluationDigest(statement), receiptKey);
}
