/**
 * The broker as attestor: it held the ciphertext of a committed run in its hands (settlement §12), which answers a
 * client who says that it cannot be had.
 */
import { createHash } from 'node:crypto';
import {
  availabilityDigest,
  decodeTerms,
  jobDigest,
  registryDomainSeparator,
  signRecoverable,
  toHex,
} from '#attestation';
import { brokerAccount, requireEscrow, requireSame } from './authorise.js';
import type { BrokerConfig } from './config.js';
import { recordAvailability } from './journal.js';

export const ciphertextBytesMax = 16 * 1024 * 1024;

export interface SignedAvailability {
  /** 65 bytes over Availability{job, ciphertextDigest} in the registry's domain. */
  readonly signature: Uint8Array;
  readonly account: Uint8Array;
}

/**
 * @param at unix seconds
 * @throws Rejection TERMS_*, BROKER_ACCOUNT, BROKER_ESCROW unless the run is committed; CollateralError as in authorise.ts
 */
export async function attestAvailability(
  config: BrokerConfig,
  { terms: encoded, ciphertext }: { readonly terms: Uint8Array; readonly ciphertext: Uint8Array },
  at: number,
): Promise<SignedAvailability> {
  const terms = decodeTerms(encoded);
  const account = brokerAccount(config);
  requireSame('BROKER_ACCOUNT', 'key broker', account, terms.keyBroker);
  await requireEscrow(config, terms, ['Committed']);
  const { chainId, registry } = config.settlement;
  const job = jobDigest(terms);
  const ciphertextDigest = new Uint8Array(createHash('sha256').update(ciphertext).digest());
  const domain = registryDomainSeparator({ chainId, verifyingContract: registry });
  recordAvailability(config, at, { job: `0x${toHex(job)}`, ciphertextDigest: `0x${toHex(ciphertextDigest)}` });
  return {
    signature: signRecoverable(availabilityDigest(domain, job, ciphertextDigest), config.signingSecret),
    account,
  };
}
