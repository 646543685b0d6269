/**
 * Rounds of a data-parallel job (libs/step/SPEC.md §20). Every worker signs a step statement for its own segment: a
 * partial. The enclave that averages them signs a round statement: the step statement of the whole round, and by which
 * receipts.
 */
import { concatBytes, equalBytes, toHex } from '../base/bytes.js';
import { exactBytes, keccak, taggedDigest, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import type { JobSpec } from './job-spec.js';
import { signStatement, verifySigned } from './receipt.js';
import { encodeStepStatement, parseStepStatement, type StepStatement } from './step-statement.js';

const roundReceiptContentType = 'application/veritrain-round-statement-digest';
const rule = 'attestation/SPEC.md, rounds';
const stepStatementBytes = 224;

/** `weightsAfter` is the exact average of what the named partials end in. */
export interface RoundStatement extends StepStatement {
  /** `partialsDigest` of the receipts over the round's partials. */
  readonly partials: Digest;
}

/** Over the receipts' bytes in the order of the workers: who signed is bound too. */
export function partialsDigest(receipts: readonly Uint8Array[]): Digest {
  return taggedDigest('veritrain/partials/v1', ...receipts.map(keccak));
}

/** The step statement's seven words and `partials`: 256 bytes. */
export function encodeRoundStatement(statement: RoundStatement): Uint8Array {
  return concatBytes(encodeStepStatement(statement), exactBytes('partials', statement.partials));
}

/** @throws Rejection STATEMENT_LENGTH, STATEMENT_STEPS */
export function parseRoundStatement(bytes: Uint8Array): RoundStatement {
  const got = `${bytes.length} bytes`;
  if (bytes.length !== stepStatementBytes + 32) {
    throw new Rejection('STATEMENT_LENGTH', { expected: `${stepStatementBytes + 32} bytes`, got, rule });
  }
  const step = parseStepStatement(bytes.slice(0, stepStatementBytes));
  return { ...step, partials: bytes.slice(stepStatementBytes) };
}

export function roundStatementDigest(statement: RoundStatement): Digest {
  return taggedDigest('veritrain/round-statement/v1', encodeRoundStatement(statement));
}

/** @param sign Ed25519 over the Sig_structure, by the key whose public half is `receiptKey` */
export function signRoundReceipt(
  statement: RoundStatement,
  receiptKey: Uint8Array,
  sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  return signStatement(roundReceiptContentType, roundStatementDigest(statement), receiptKey, sign);
}

/** @throws Rejection COSE_*, CBOR_*, RECEIPT_STATEMENT */
export function verifyRoundReceipt(
  receipt: Uint8Array,
  statement: RoundStatement,
  receiptKey: Uint8Array,
): Promise<void> {
  return verifySigned(receipt, roundReceiptContentType, roundStatementDigest(statement), receiptKey);
}

export function workersOf({ parallel = 1 }: Pick<JobSpec, 'parallel'>): number {
  return parallel;
}

/** What `worker` must have signed in this round, save what it ended in. */
export function partialOf(
  { segmentSteps }: Pick<JobSpec, 'segmentSteps'>,
  round: StepStatement,
  worker: number,
): Omit<StepStatement, 'weightsAfter'> {
  const { jobId, programDigest, datasetRoot, weightsBefore } = round;
  const stepFrom = round.stepFrom + worker * segmentSteps;
  return { jobId, programDigest, datasetRoot, stepFrom, stepCount: segmentSteps, weightsBefore };
}

/**
 * That these are the partials of this round: one of every worker in order, each from the round's start on its own steps,
 * and no other than those whose receipts the round names. Says nothing of signatures.
 *
 * @throws Rejection ROUND_PARTIALS
 */
export function checkPartials(
  spec: Pick<JobSpec, 'segmentSteps' | 'parallel'>,
  round: RoundStatement,
  partials: readonly { readonly statement: StepStatement; readonly receipt: Uint8Array }[],
): void {
  const workers = workersOf(spec);
  if (partials.length !== workers) throw refused(`partials of ${workers} workers`, `${partials.length}`);
  for (const [worker, { statement }] of partials.entries()) {
    checkPartial(partialOf(spec, round, worker), statement, `worker ${worker} at step ${round.stepFrom}`);
  }
  const named = partialsDigest(partials.map(({ receipt }) => receipt));
  if (!equalBytes(named, round.partials)) throw refused('the receipts that the round names', 'other receipts');
}

/** @throws Rejection ROUND_PARTIALS naming the first field that differs */
export function checkPartial(expected: Omit<StepStatement, 'weightsAfter'>, got: StepStatement, what: string): void {
  for (const [name, value] of Object.entries(expected)) {
    const found = got[name as keyof StepStatement];
    const agrees = typeof value === 'number' ? value === found : equalBytes(value, found as Uint8Array);
    if (!agrees) throw refused(`the partial of ${what}, ${name} ${shown(value)}`, shown(found));
  }
}

function shown(value: number | Uint8Array): string {
  return typeof value === 'number' ? String(value) : toHex(value);
}

function refused(expected: string, got: string): Rejection {
  return new Rejection('ROUND_PARTIALS', { expected, got, rule });
}
