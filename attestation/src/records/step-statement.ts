/** The claim that receipts and step proofs make: these steps of this program on this data turned these weights into those. */
import { concatBytes } from '../base/bytes.js';
import { exactBytes, taggedDigest, word, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';

export interface StepStatement {
  readonly jobId: Digest;
  /** Digest of the fxt/1 manifest. */
  readonly programDigest: Digest;
  readonly datasetRoot: Digest;
  /** Index of the first step. */
  readonly stepFrom: number;
  /** Number of steps, at least 1. */
  readonly stepCount: number;
  /** weightsDigest before the first step. */
  readonly weightsBefore: Digest;
  /** weightsDigest after the last step. */
  readonly weightsAfter: Digest;
}

const wordsOfStatement = 7;

/** Seven 32-byte words in field order: the canonical bytes of a statement, and what its digest covers. */
export function encodeStepStatement(statement: StepStatement): Uint8Array {
  return concatBytes(
    exactBytes('jobId', statement.jobId),
    exactBytes('programDigest', statement.programDigest),
    exactBytes('datasetRoot', statement.datasetRoot),
    word(statement.stepFrom),
    word(statement.stepCount),
    exactBytes('weightsBefore', statement.weightsBefore),
    exactBytes('weightsAfter', statement.weightsAfter),
  );
}

/** @throws Rejection STATEMENT_LENGTH, STATEMENT_STEPS */
export function parseStepStatement(bytes: Uint8Array): StepStatement {
  if (bytes.length !== 32 * wordsOfStatement) {
    throw new Rejection('STATEMENT_LENGTH', {
      expected: `${32 * wordsOfStatement} bytes`,
      got: `${bytes.length} bytes`,
      rule: 'attestation/SPEC.md, step statement',
    });
  }
  const at = (index: number): Uint8Array => bytes.slice(32 * index, 32 * index + 32);
  return {
    jobId: at(0),
    programDigest: at(1),
    datasetRoot: at(2),
    stepFrom: stepNumber(at(3)),
    stepCount: stepNumber(at(4)),
    weightsBefore: at(5),
    weightsAfter: at(6),
  };
}

export function stepStatementDigest(statement: StepStatement): Digest {
  return taggedDigest('veritrain/step-statement/v1', encodeStepStatement(statement));
}

function stepNumber(bytes: Uint8Array): number {
  const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new Rejection('STATEMENT_STEPS', {
      expected: 'a step number below 2^53',
      got: value.toString(),
      rule: 'attestation/SPEC.md, step statement',
    });
  }
  return Number(value);
}
