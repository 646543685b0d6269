/**
 * What a worker of a data-parallel job hands to whichever enclave averages: its weights with the signed statement that they
 * end its segment, sealed to the job's enclaves like a checkpoint, under a key of their own (enclave/SPEC.md, rounds).
 */
import {
  bytesUpTo,
  checkpointWeightsBytesMax,
  concatBytes,
  decodeCanonical,
  encodeCanonical,
  equalBytes,
  oneOf,
  record,
  Rejection,
  toCbor,
  utf8,
  type Shaped,
} from '#attestation/base';
import {
  parseStepStatement,
  receiptBytesMax,
  releasedShape,
  verifyReceipt,
  type StepStatement,
} from '#attestation/records';
import { openWithNonce, sealWithNonce, partialKey, type SealingSecrets } from '#libs/sealing';
import { decodeWeights, type Weights } from '#libs/step';
import { checkReleased } from './grant.js';
import type { ReadyJob } from './ready-job.js';

const partialShape = {
  version: oneOf(2),
  statement: bytesUpTo(224),
  receipt: bytesUpTo(receiptBytesMax),
  /** The worker's session as the key broker released it. */
  session: record(releasedShape),
  /** Canonical tensor bytes (libs/step/SPEC.md §11). */
  weights: bytesUpTo(checkpointWeightsBytesMax),
};

type SealedPartial = Shaped<typeof partialShape>;

export interface Partial {
  readonly statement: StepStatement;
  readonly receipt: Uint8Array;
  readonly weights: Weights;
}

const tag = utf8('veritrain/partial/v2');

export async function sealPartial(secrets: SealingSecrets, partial: SealedPartial): Promise<Uint8Array> {
  const associated = concatBytes(tag, secrets.jobId);
  return sealWithNonce(await partialKey(secrets), encodeCanonical(toCbor(partial)), associated);
}

/**
 * A partial by a session that the key broker released, whose receipt and weights are those of its statement. Which round and worker it is of is for the average to say.
 *
 * @throws Rejection PARTIAL_AUTHENTICATION, CBOR_*, MESSAGE_SHAPE, CHECKPOINT_SESSION, STATEMENT_*, COSE_*,
 *   RECEIPT_STATEMENT, WEIGHTS_*, PARTIAL_WEIGHTS
 */
export async function openPartial(job: ReadyJob, sealed: Uint8Array): Promise<Partial> {
  const { jobId, manifest, commitments } = job;
  const key = await partialKey(job);
  const what = 'a partial of this job';
  const opened = await openWithNonce('PARTIAL_AUTHENTICATION', what, key, sealed, concatBytes(tag, jobId));
  const partial = record(partialShape)(decodeCanonical(opened), 'partial');
  const { receipt, session } = partial;
  checkReleased(job, session, job.own.binding);
  const statement = parseStepStatement(partial.statement);
  await verifyReceipt(receipt, statement, session.binding.receiptKey);
  const weights = decodeWeights(manifest, partial.weights);
  if (equalBytes(commitments.border(0, weights), statement.weightsAfter)) return { statement, receipt, weights };
  throw new Rejection('PARTIAL_WEIGHTS', {
    expected: 'the weights that the statement ends in',
    got: 'weights of another commitment',
    rule: 'enclave/SPEC.md, rounds',
    action: 'have the segment trained again',
  });
}
