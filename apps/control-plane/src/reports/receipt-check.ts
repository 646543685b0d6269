/** Whether a statement with its receipt belongs to this job and was signed by an appraised session. */
import { equalBytes, fromBase64, readSign1, to0x } from '#attestation/base';
import {
  encodeStepStatement,
  parseRoundStatement,
  parseStepStatement,
  verifyReceipt,
  verifyRoundReceipt,
  workersOf,
  type JobSpec,
  type RoundStatement,
  type StepStatement,
} from '#attestation/records';
import type { Job } from '#libs/persistence';
import { manifestDigest } from '#libs/step';
import type { SignedStatement } from '#libs/wire';
import { refusal } from '../core/problem/codes.js';
import { openJob } from '../jobs/open-job.js';

/** A session of the job, by the lease that it came with. */
export interface Signer {
  readonly leaseId: string;
  /** Null for a node without a TEE, whose statements wait for their proofs. */
  readonly receiptKey: Uint8Array | null;
}

export interface CheckedReceipt {
  /** Of the session that signed it. */
  readonly leaseId: string;
  readonly statement: StepStatement | RoundStatement;
  readonly statementBytes: Buffer;
  readonly receiptBytes: Buffer;
}

const rule = 'apps/control-plane/README.md, checkpoints';

/**
 * @param own the session of the lease
 * @param others whose receipts count too
 * @throws Rejection STATEMENT_*, RECEIPT_*, COSE_*, CBOR_*, CHECKPOINT_GAP
 */
export async function checkReceipt(
  job: Pick<Job, 'id' | 'spec' | 'terms'>,
  signed: SignedStatement,
  own: Signer,
  others: readonly Signer[],
): Promise<CheckedReceipt> {
  const statementBytes = Buffer.from(signed.statement, 'base64');
  const receiptBytes = Buffer.from(signed.receipt, 'base64');
  const { spec, manifest, division } = openJob(job);
  const statement = statementOf(spec, statementBytes);
  const expected = {
    ...statement,
    jobId: Uint8Array.from(Buffer.from(job.id.slice(2), 'hex')),
    programDigest: manifestDigest(manifest),
    datasetRoot: spec.dataset.root,
  };
  if (!equalBytes(encodeStepStatement(expected), encodeStepStatement(statement))) {
    throw refusal('STATEMENT_MISMATCH', {
      expected: `job ${job.id}, its program and its data set root`,
      got: `job ${to0x(statement.jobId)}, program ${to0x(statement.programDigest)}, root ${to0x(statement.datasetRoot)}`,
      rule,
    });
  }
  const { stepFrom, stepCount } = statement;
  const { roundSteps } = division;
  const wanted = Math.min(roundSteps, manifest.steps - stepFrom);
  if (stepFrom % roundSteps !== 0 || stepCount !== wanted || wanted < 1) {
    throw refusal('CHECKPOINT_GAP', {
      expected: `one segment of ${roundSteps} steps, or the rest of ${manifest.steps}`,
      got: `${stepCount} steps from ${stepFrom}`,
      rule,
    });
  }
  const { leaseId, receiptKey } = own.receiptKey === null ? own : (signerOf(signed, [own, ...others]) ?? own);
  if (receiptKey !== null && isRound(statement)) {
    await verifyRoundReceipt(new Uint8Array(receiptBytes), statement, receiptKey);
  } else if (receiptKey !== null) await verifyReceipt(new Uint8Array(receiptBytes), statement, receiptKey);
  else if (receiptBytes.length > 0) {
    throw refusal('RECEIPT_KEY_UNKNOWN', { expected: 'no receipt of a node without a TEE', got: 'a receipt', rule });
  }
  return { leaseId, statement, statementBytes, receiptBytes };
}

/** The first whose key a receipt names. @throws Rejection COSE_*, CBOR_* */
function signerOf({ receipt }: SignedStatement, signers: readonly Signer[]): Signer | undefined {
  const { keyId } = readSign1(fromBase64(receipt), 'tagged');
  return signers.find(({ receiptKey }) => keyId && receiptKey && equalBytes(keyId, receiptKey));
}

/** What a receipt of this job is over: a segment's statement, or a round's. @throws Rejection STATEMENT_* */
export function statementOf(spec: JobSpec, bytes: Uint8Array): StepStatement | RoundStatement {
  const parse = workersOf(spec) > 1 ? parseRoundStatement : parseStepStatement;
  return parse(new Uint8Array(bytes));
}

export function isRound(statement: StepStatement | RoundStatement): statement is RoundStatement {
  return 'partials' in statement;
}

/** @throws Rejection CHECKPOINT_GAP when the statements do not follow each other */
export function checkFollows(before: StepStatement | null, next: StepStatement): void {
  const step = before === null ? 0 : before.stepFrom + before.stepCount;
  const sameWeights = before === null || equalBytes(before.weightsAfter, next.weightsBefore);
  if (next.stepFrom === step && sameWeights) return;
  throw refusal('CHECKPOINT_GAP', {
    expected: `a segment from step ${step}${before === null ? '' : ` and weights ${to0x(before.weightsAfter)}`}`,
    got: `step ${next.stepFrom} and weights ${to0x(next.weightsBefore)}`,
    rule,
    action: 'Report segments in order; resume from the last checkpoint.',
  });
}
