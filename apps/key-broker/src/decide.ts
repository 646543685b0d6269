/** One decision per nonce and keys, and none that is not recorded. */
import { CodedError, CollateralError } from '#attestation/base';
import type { Journal } from './journal.js';
import type { NonceStore } from './nonces.js';
import { recordRefusal } from './refusals.js';

interface Asking {
  readonly journal: Journal;
  readonly nonces: NonceStore;
  readonly nonce: Uint8Array;
  readonly jobId: Uint8Array;
  /** Unix seconds. */
  readonly at: number;
  /** What shows that whoever asks holds the keys it names. @returns their digest @throws Rejection where it does not */
  prove(): Uint8Array;
}

/**
 * What does not answer a nonce of this process for this job, or comes without proof by its keys, is answered and changes
 * nothing: nobody spends the nonce of another or ends its session. Where material for a verdict is
 * missing nothing was decided: the same request may come again while the nonce lives.
 *
 * @param judge  is told when the nonce was issued, unix seconds: since then the evidence can have been made
 * @throws Rejection NONCE_*, what `prove` throws, unrecorded; what `judge` throws, recorded when it is a refusal
 */
export async function decide<T>(
  { journal, nonces, nonce, jobId, at, prove }: Asking,
  judge: (issuedAt: number) => Promise<T>,
): Promise<T> {
  const issuedAt = nonces.check(nonce, jobId, at);
  const keys = prove();
  nonces.spend(nonce, keys, at);
  try {
    return await judge(issuedAt);
  } catch (error) {
    if (error instanceof CollateralError) nonces.reopen(nonce, keys);
    else if (error instanceof CodedError) recordRefusal(journal, at, error);
    throw error;
  }
}
