/** An enclave's receipt: a COSE_Sign1 by its receipt key over the digest of one step statement. */
import { equalBytes, toHex } from '../base/bytes.js';
import { readSign1, signSign1, verifySign1 } from '../base/cose.js';
import type { Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import { stepStatementDigest, type StepStatement } from './step-statement.js';

export const receiptContentType = 'application/veritrain-step-statement-digest';
export const receiptBytesMax = 4096;

declare const verified: unique symbol;

/** Made only by `verifyReceipt`. */
export interface VerifiedReceipt {
  readonly statement: StepStatement;
  readonly receiptKey: Uint8Array;
  readonly [verified]: true;
}

/** @param sign Ed25519 over the Sig_structure, by the key whose public half is `receiptKey` */
export function signReceipt(statement: StepStatement, receiptKey: Uint8Array, sign: Signer): Promise<Uint8Array> {
  return signStatement(receiptContentType, stepStatementDigest(statement), receiptKey, sign);
}

/**
 * @param receiptKey key of an appraised session, Ed25519, 32 bytes
 * @throws Rejection COSE_*, CBOR_*, RECEIPT_STATEMENT when it is a receipt for another statement
 */
export async function verifyReceipt(
  receipt: Uint8Array,
  statement: StepStatement,
  receiptKey: Uint8Array,
): Promise<VerifiedReceipt> {
  await verifySigned(receipt, receiptContentType, stepStatementDigest(statement), receiptKey);
  return { statement, receiptKey } as VerifiedReceipt;
}

type Signer = (message: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/** A receipt of any kind: the content type keeps one kind from standing in for another. */
export function signStatement(
  contentType: string,
  digest: Digest,
  receiptKey: Uint8Array,
  sign: Signer,
): Promise<Uint8Array> {
  return signSign1({ algorithm: 'EdDSA', contentType, keyId: receiptKey }, digest, sign);
}

/** @throws Rejection COSE_*, CBOR_*, RECEIPT_STATEMENT */
export async function verifySigned(
  receipt: Uint8Array,
  contentType: string,
  digest: Digest,
  receiptKey: Uint8Array,
): Promise<void> {
  const header = { algorithm: 'EdDSA', publicKey: receiptKey, contentType, keyId: receiptKey } as const;
  const payload = await verifySign1(readSign1(receipt, 'tagged'), header);
  if (equalBytes(payload, digest)) return;
  throw new Rejection('RECEIPT_STATEMENT', {
    expected: toHex(digest),
    got: toHex(payload),
    rule: 'attestation/SPEC.md, receipts',
    action: 'pair each receipt with the statement it was signed for',
  });
}
