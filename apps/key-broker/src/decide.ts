/** One decision per nonce, and none that is not recorded. */
import { CodedError, CollateralError, toHex } from '#attestation';
import type { BrokerConfig } from './config.js';
import { recordRefusal } from './journal.js';
import type { NonceBook } from './nonces.js';

export interface Asking {
  readonly config: BrokerConfig;
  readonly nonces: NonceBook;
  readonly nonce: Uint8Array;
  readonly jobId: Uint8Array;
  /** Unix seconds. */
  readonly at: number;
}

/**
 * Only what answered an open nonce is judged and recorded, so that nobody fills the journal from afar. Where material
 * for a verdict is missing nothing was decided: the same request may come again while the nonce lives.
 *
 * @param judge  is told when the nonce was issued, unix seconds: since then the evidence can have been made
 * @throws Rejection NONCE_*, unrecorded; what `judge` throws, recorded when it is a refusal
 */
export async function decide<T>(
  { config, nonces, nonce, jobId, at }: Asking,
  judge: (issuedAt: number) => Promise<T>,
): Promise<T> {
  const { issuedAt, reopen } = nonces.spend(nonce, toHex(jobId), at);
  try {
    return await judge(issuedAt);
  } catch (error) {
    if (error instanceof CollateralError) reopen();
    else if (error instanceof CodedError) recordRefusal(config, at, error);
    throw error;
  }
}
