/** From a broadcast transaction to its confirmed receipt: repriced when it sticks, followed through replacement. */
import { isError, type Signer, type TransactionReceipt, type TransactionResponse } from 'ethers';
import { CollateralError } from '#attestation';
import { isTransient } from './failure.js';

export interface WaitOptions {
  /** Blocks that must hold the transaction, its own among them. */
  readonly confirmations: number;
  /** Milliseconds without a receipt after which the same nonce is sent again for a higher fee. */
  readonly repriceAfterMs: number;
  /** How often that may happen. */
  readonly repricings: number;
}

/**
 * @throws CollateralError CHAIN_STUCK when the last repricing brought no receipt either; errors of ethers
 */
export async function confirmed(
  sent: TransactionResponse,
  signer: Signer,
  { confirmations, repriceAfterMs, repricings }: WaitOptions,
): Promise<TransactionReceipt> {
  let current = sent;
  for (let attempt = 0; attempt <= repricings; attempt++) {
    try {
      const receipt = await current.wait(confirmations, repriceAfterMs);
      if (receipt !== null) return receipt;
    } catch (error) {
      if (isError(error, 'TRANSACTION_REPLACED') && !error.cancelled) return error.receipt;
      if (!isTransient(error)) throw error;
    }
    const mined = await sent.provider.getTransactionReceipt(current.hash);
    if (mined === null && attempt < repricings) current = await repriced(current, signer);
  }
  throw new CollateralError('CHAIN_STUCK', {
    expected: `a receipt for transaction ${sent.nonce} of ${sent.from}`,
    got: `none after ${repricings} repricings`,
    rule: 'settlement §18',
    action: 'try again when blocks are less full',
  });
}

/** The same transaction for a quarter more: nodes refuse a replacement that pays less than a tenth more. */
async function repriced(stuck: TransactionResponse, signer: Signer): Promise<TransactionResponse> {
  const raised = (fee: bigint | null) => ((fee ?? 0n) * 5n) / 4n + 1n;
  try {
    return await signer.sendTransaction({
      to: stuck.to,
      data: stuck.data,
      value: stuck.value,
      nonce: stuck.nonce,
      gasLimit: stuck.gasLimit,
      maxFeePerGas: raised(stuck.maxFeePerGas),
      maxPriorityFeePerGas: raised(stuck.maxPriorityFeePerGas),
    });
  } catch (error) {
    // Mined or replaced meanwhile: the receipt is still the one to wait for.
    if (isError(error, 'NONCE_EXPIRED') || isError(error, 'REPLACEMENT_UNDERPRICED')) return stuck;
    throw error;
  }
}

/** Repeats a call that changes nothing while the chain does not answer: waits 0.1, 0.2, 0.4 s. */
export async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let wait = 100; ; wait *= 2) {
    try {
      return await call();
    } catch (error) {
      if (!isTransient(error) || wait > 400) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
