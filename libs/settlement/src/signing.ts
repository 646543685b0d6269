/** A transaction from its request to the bytes that are sent. */
import { Transaction, type Signer, type TransactionRequest } from 'ethers';
import { gasMax } from './failure.js';
import { checkFees } from './fees.js';

export interface Signed {
  readonly hash: string;
  readonly signed: string;
  readonly transaction: Transaction;
}

/** Priced, with gas to spare. */
export async function signNew(signer: Signer, request: TransactionRequest, feePerGasMaxWei: bigint): Promise<Signed> {
  const { from: _, ...prepared } = await signer.populateTransaction(request);
  const gasLimit = BigInt(prepared.gasLimit!);
  const transaction = Transaction.from({
    ...prepared,
    to: prepared.to as string | null,
    gasLimit: gasLimit >= gasMax ? gasLimit : min((gasLimit * 6n) / 5n, gasMax),
  } as Parameters<typeof Transaction.from>[0]);
  checkFees(transaction, feePerGasMaxWei);
  return signVersion(signer, transaction);
}

export async function signVersion(signer: Signer, transaction: Transaction): Promise<Signed> {
  const signed = await signer.signTransaction(transaction);
  const whole = Transaction.from(signed);
  return { hash: whole.hash!, signed, transaction: whole };
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
