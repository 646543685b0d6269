/**
 * What a worker of a data-parallel job hands to whichever enclave averages: its weights with the signed statement that they
 * end its segment, sealed to the job's enclaves like a checkpoint, under a key of their own (enclave SPEC, rounds).
 */
import {
  bytes,
  bytesUpTo,
  checkpointWeightsBytesMax,
  concatBytes,
  decodeCanonical,
  encodeCanonical,
  equalBytes,
  oneOf,
  parseStepStatement,
  receiptBytesMax,
  record,
  Rejection,
  toCbor,
  utf8,
  verifyReceipt,
  type Shaped,
  type StepStatement,
} from '#attestation';
import { decodeWeights, type Weights } from '#libs/step';
import { deriveKey, openWithNonce, sealWithNonce } from './aead.js';
import type { ReadyJob } from './trainer.js';

const partialShape = {
  version: oneOf(1),
  statement: bytesUpTo(224),
  receipt: bytesUpTo(receiptBytesMax),
  /** Of the worker's session. Whoever sealed this had the data key; a bundle shows that it was an appraised session. */
  receiptKey: bytes(32),
  /** Canonical tensor bytes (fixed-point §11). */
  weights: bytesUpTo(checkpointWeightsBytesMax),
};

export type SealedPartial = Shaped<typeof partialShape>;

export interface Partial {
  readonly statement: StepStatement;
  readonly receipt: Uint8Array;
  readonly weights: Weights;
}

const tag = utf8('veritrain/partial/v1');

export async function sealPartial(
  { dataKey, jobId }: Pick<ReadyJob, 'dataKey' | 'jobId'>,
  partial: SealedPartial,
): Promise<Uint8Array> {
  const key = await deriveKey(dataKey, jobId, tag);
  return sealWithNonce(key, encodeCanonical(toCbor(partial)), concatBytes(tag, jobId));
}

/**
 * A partial whose receipt and weights are those of its statement. Which round and worker it is of is for the average to say.
 *
 * @throws Rejection PARTIAL_AUTHENTICATION, CBOR_*, MESSAGE_SHAPE, STATEMENT_*, COSE_*, RECEIPT_STATEMENT, WEIGHTS_*,
 *   PARTIAL_WEIGHTS
 */
export async function openPartial(job: ReadyJob, sealed: Uint8Array): Promise<Partial> {
  const { dataKey, jobId, manifest, commitments } = job;
  const key = await deriveKey(dataKey, jobId, tag);
  const what = 'a partial of this job';
  const opened = await openWithNonce('PARTIAL_AUTHENTICATION', what, key, sealed, concatBytes(tag, jobId));
  const partial = record(partialShape)(decodeCanonical(opened), 'partial');
  const { receipt, receiptKey } = partial;
  const statement = parseStepStatement(partial.statement);
  await verifyReceipt(receipt, statement, receiptKey);
  const weights = decodeWeights(manifest, partial.weights);
  if (equalBytes(commitments.border(0, weights), statement.weightsAfter)) return { statement, receipt, weights };
  throw new Rejection('PARTIAL_WEIGHTS', {
    expected: 'the weights that the statement ends in',
    got: 'weights of another commitment',
    rule: 'enclave SPEC, rounds',
    action: 'have the segment trained again',
  });
}
