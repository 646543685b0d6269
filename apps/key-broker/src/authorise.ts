/** What the data owner allows, whoever asks: whose jobs, on which data, for whose results, ordered on which chain. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import {
  addressOfPublicKey,
  CollateralError,
  equalBytes,
  Rejection,
  specDigestOf,
  toHex,
  type JobSpec,
  type Terms,
} from '#attestation';
import type { JobState } from '#libs/settlement';
import type { BrokerConfig } from './config.js';

export interface OrderedJob {
  readonly spec: JobSpec;
  readonly terms: Terms;
  readonly jobId: Uint8Array;
}

/** Account that signs releases and appraisals, 20 bytes. */
export function brokerAccount({ signingSecret }: Pick<BrokerConfig, 'signingSecret'>): Uint8Array {
  return addressOfPublicKey(secp256k1.getPublicKey(signingSecret, false));
}

/**
 * Everything that needs no look at the chain.
 *
 * @returns the data key that is asked for
 * @throws Rejection BROKER_DATASET, BROKER_RECIPIENT, BROKER_CLIENT, BROKER_ACCOUNT, BROKER_ESCROW, BROKER_CHAIN
 */
export function authoriseJob(config: BrokerConfig, { spec, terms }: OrderedJob): Uint8Array {
  const { settlement, recipients, clients } = config;
  const key = config.dataKey(spec.dataset.id);
  if (key === null) throw refused('BROKER_DATASET', 'a data set of this broker', toHex(spec.dataset.id));
  if (!recipients.has(toHex(spec.recipient))) {
    throw refused('BROKER_RECIPIENT', "a result encrypted to one of the data owner's keys", toHex(spec.recipient));
  }
  if (!clients.has(toHex(terms.client))) {
    throw refused('BROKER_CLIENT', 'an escrow of a client that the data owner named', toHex(terms.client));
  }
  requireSame('BROKER_ACCOUNT', 'key broker', brokerAccount(config), terms.keyBroker);
  requireSame('BROKER_ESCROW', 'job of the escrow', specDigestOf(spec), terms.specDigest);
  requireSame('BROKER_CHAIN', 'contract', settlement.contract, spec.settlement.contract);
  if (spec.settlement.chainId !== settlement.chainId) {
    throw refused('BROKER_CHAIN', `chain ${settlement.chainId}`, `${spec.settlement.chainId}`);
  }
  return key;
}

/** A host asks before it accepts, or again for a job that was begun; after its commit to hand the result over. */
export const releasable: readonly JobState[] = ['Open', 'Accepted', 'Started', 'Committed'];

/**
 * @throws Rejection BROKER_ESCROW unless the chain holds an escrow of these very terms in one of `states`;
 *   CollateralError BROKER_ESCROW_UNCONFIRMED, CHAIN_UNREACHABLE
 */
export async function requireEscrow(config: BrokerConfig, terms: Terms, states: readonly JobState[]): Promise<void> {
  const { latest, confirmed } = await config.escrow.stateOf(terms);
  if (!states.includes(latest)) throw refused('BROKER_ESCROW', `an escrow that is ${states.join(', ')}`, latest);
  if (confirmed !== 'None') return;
  throw new CollateralError('BROKER_ESCROW_UNCONFIRMED', {
    expected: 'an escrow with the confirmations that the data owner demands',
    got: 'one in a newer block',
    rule: "the data owner's release policy",
    action: 'ask again when the chain has grown',
  });
}

export function requireSame(code: string, what: string, expected: Uint8Array, got: Uint8Array): void {
  if (!equalBytes(expected, got)) throw refused(code, `${what} ${toHex(expected)}`, toHex(got));
}

export function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: "the data owner's release policy",
    action: 'submit a job that the data owner allows, or ask the data owner to allow it',
  });
}
