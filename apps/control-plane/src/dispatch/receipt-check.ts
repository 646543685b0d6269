/** Whether a statement with its receipt belongs to this job and was signed by an appraised session. */
import {
  encodeStepStatement,
  equalBytes,
  parseJobSpec,
  parseStepStatement,
  toHex,
  verifyReceipt,
  type StepStatement,
} from '#attestation';
import { manifestDigest, parseManifestText } from '#libs/step';
import type { SignedStatement } from '#libs/messaging';
import type { Job } from '#libs/persistence';
import { refusal } from '../problem/codes.js';

export interface CheckedReceipt {
  readonly statement: StepStatement;
  readonly statementBytes: Buffer;
  readonly receiptBytes: Buffer;
}

const rule = 'control-plane README, checkpoints';
const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;

/** @throws Rejection STATEMENT_*, RECEIPT_*, COSE_*, CBOR_*, CHECKPOINT_GAP */
export async function checkReceipt(
  job: Pick<Job, 'id' | 'spec'>,
  signed: SignedStatement,
  receiptKey: Uint8Array,
): Promise<CheckedReceipt> {
  const statementBytes = Buffer.from(signed.statement, 'base64');
  const receiptBytes = Buffer.from(signed.receipt, 'base64');
  const statement = parseStepStatement(new Uint8Array(statementBytes));
  const spec = parseJobSpec(new Uint8Array(job.spec));
  const manifest = parseManifestText(spec.manifest);
  const expected = {
    ...statement,
    jobId: Uint8Array.from(Buffer.from(job.id.slice(2), 'hex')),
    programDigest: manifestDigest(manifest),
    datasetRoot: spec.dataset.root,
  };
  if (!equalBytes(encodeStepStatement(expected), encodeStepStatement(statement))) {
    throw refusal('STATEMENT_MISMATCH', {
      expected: `job ${job.id}, its program and its data set root`,
      got: `job ${hex(statement.jobId)}, program ${hex(statement.programDigest)}, root ${hex(statement.datasetRoot)}`,
      rule,
    });
  }
  const { stepFrom, stepCount } = statement;
  const wanted = Math.min(spec.segmentSteps, manifest.steps - stepFrom);
  if (stepFrom % spec.segmentSteps !== 0 || stepCount !== wanted || wanted < 1) {
    throw refusal('CHECKPOINT_GAP', {
      expected: `one segment of ${spec.segmentSteps} steps, or the rest of ${manifest.steps}`,
      got: `${stepCount} steps from ${stepFrom}`,
      rule,
    });
  }
  await verifyReceipt(new Uint8Array(receiptBytes), statement, receiptKey);
  return { statement, statementBytes, receiptBytes };
}

/** @throws Rejection CHECKPOINT_GAP when the statements do not follow each other */
export function checkFollows(before: StepStatement | null, next: StepStatement): void {
  const step = before === null ? 0 : before.stepFrom + before.stepCount;
  const sameWeights = before === null || equalBytes(before.weightsAfter, next.weightsBefore);
  if (next.stepFrom === step && sameWeights) return;
  throw refusal('CHECKPOINT_GAP', {
    expected: `a segment from step ${step}${before === null ? '' : ` and weights ${hex(before.weightsAfter)}`}`,
    got: `step ${next.stepFrom} and weights ${hex(next.weightsBefore)}`,
    rule,
    action: 'Report segments in order; resume from the last checkpoint.',
  });
}
