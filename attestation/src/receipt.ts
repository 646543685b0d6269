/** An enclave's receipt: a COSE_Sign1 by its receipt key over the digest of one step statement. */
import { equalBytes, toHex } from './bytes.js';
import { readSign1, signSign1, verifySign1 } from './cose.js';
import { Rejection } from './errors.js';
import { stepStatementDigest, type StepStatement } from './statement/step-statement.js';

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
export function signReceipt(
  statement: StepStatement,
  receiptKey: Uint8Array,
  sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  const header = { algorithm: 'EdDSA', contentType: receiptContentType, keyId: receiptKey } as const;
  return signSign1(header, stepStatementDigest(statement), sign);
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
  const payload = await verifySign1(readSign1(receipt, 'tagged'), {
    algorithm: 'EdDSA',
    publicKey: receiptKey,
    contentType: receiptContentType,
    keyId: receiptKey,
  });
  const expected = stepStatementDigest(statement);
  if (!equalBytes(payload, expected)) {
    throw new Rejection('RECEIPT_STATEMENT', {
      expected: toHex(expected),
      got: toHex(payload),
      rule: 'attestation SPEC, receipts',
      action: 'pair each receipt with the statement it was signed for',
    });
  }
  return { statement, receiptKey } as VerifiedReceipt;
}
