/** What the data owner allows, whoever asks: whose jobs, on which data, for whose results, ordered on which chain. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { addressOfPublicKey, CollateralError, equalBytes, isZero, Rejection, toHex } from '#attestation/base';
import {
  progressOf,
  specDigestOf,
  termsFit,
  type JobSpec,
  type ProgressGrain,
  type SessionEvidence,
  type Terms,
} from '#attestation/records';
import type { JobState } from '#libs/settlement';
import type { BrokerConfig, SpeakerConfig } from './config.js';

export interface OrderedJob {
  readonly spec: JobSpec;
  readonly terms: Terms;
  /** `escrowIdOf` of the terms. */
  readonly job: Uint8Array;
  readonly jobId: Uint8Array;
}

/** From the coarsest. */
const grains: readonly ProgressGrain[] = ['none', 'epoch', 'segment', 'step'];

/** Account that signs, 20 bytes. */
export function accountOf({ signingSecret }: Pick<SpeakerConfig, 'signingSecret'>): Uint8Array {
  return addressOfPublicKey(secp256k1.getPublicKey(signingSecret, false));
}

/**
 * Makes every check that does not read the chain.
 *
 * @returns the data key that is asked for
 * @throws Rejection BROKER_DATASET, BROKER_RECIPIENT, BROKER_CLIENT, BROKER_PROGRESS, BROKER_ACCOUNT, those of `checkOrdered`
 */
export function authoriseJob(config: BrokerConfig, asked: Pick<OrderedJob, 'spec' | 'terms'>): Uint8Array {
  const { spec, terms } = asked;
  const { recipients, clients } = config;
  const key = config.dataKey(spec.dataset.id);
  if (key === null) throw refused('BROKER_DATASET', 'a data set of this broker', toHex(spec.dataset.id));
  if (!recipients.has(toHex(spec.recipient))) {
    throw refused('BROKER_RECIPIENT', "a result encrypted to one of the data owner's keys", toHex(spec.recipient));
  }
  if (!clients.has(toHex(terms.client))) {
    throw refused('BROKER_CLIENT', 'an escrow of a client that the data owner named', toHex(terms.client));
  }
  const asksFor = progressOf(spec);
  if (grains.indexOf(asksFor) > grains.indexOf(config.progress)) {
    throw refused('BROKER_PROGRESS', `figures no finer than '${config.progress}' while the job trains`, `'${asksFor}'`);
  }
  requireSame('BROKER_ACCOUNT', 'key broker', accountOf(config), terms.keyBroker);
  checkOrdered(config, asked);
  return key;
}

/**
 * The escrow is one of this job, on the chain and contract of the settings, and its terms fit.
 * @throws Rejection BROKER_ESCROW, BROKER_POLICY, BROKER_CHAIN, TERMS_*
 */
export function checkOrdered(
  { settlement }: Pick<SpeakerConfig, 'settlement'>,
  { spec, terms }: Pick<OrderedJob, 'spec' | 'terms'>,
): void {
  requireSame('BROKER_ESCROW', 'job of the escrow', specDigestOf(spec), terms.specDigest);
  requireSame('BROKER_CHAIN', 'contract', settlement.contract, spec.settlement.contract);
  if (spec.settlement.chainId !== settlement.chainId) {
    throw refused('BROKER_CHAIN', `chain ${settlement.chainId}`, `${spec.settlement.chainId}`);
  }
  requireSame('BROKER_POLICY', 'policy of the escrow', spec.policyDigest, terms.policy);
  termsFit(spec, terms);
}

/** The session is one for this escrow. @throws Rejection BROKER_CHAIN, BROKER_PROVIDER */
export function checkSession(
  { settlement }: Pick<SpeakerConfig, 'settlement'>,
  { terms, evidence }: Pick<OrderedJob, 'terms'> & { readonly evidence: SessionEvidence },
): void {
  const { chainId, registry } = settlement;
  const { binding } = evidence;
  requireSame('BROKER_CHAIN', 'enclave registry', registry, binding.registry);
  if (binding.chainId !== chainId) throw refused('BROKER_CHAIN', `chain ${chainId}`, `${binding.chainId}`);
  if (!isZero(terms.provider)) requireSame('BROKER_PROVIDER', 'provider', terms.provider, binding.provider);
}

/** A host asks before it accepts, or again for a job that was begun; after its commit to hand the result over. */
export const releasable: readonly JobState[] = ['Open', 'Accepted', 'Started', 'Committed'];

/**
 * @throws Rejection BROKER_ESCROW unless the chain holds an escrow of these very terms in one of `states`;
 *   CollateralError BROKER_ESCROW_UNCONFIRMED, CHAIN_UNREACHABLE
 */
export async function requireEscrow(
  { escrow }: Pick<SpeakerConfig, 'escrow'>,
  terms: Terms,
  states: readonly JobState[],
): Promise<void> {
  const { latest, confirmed } = await escrow.stateOf(terms);
  if (!states.includes(latest)) throw refused('BROKER_ESCROW', `an escrow that is ${states.join(', ')}`, latest);
  if (confirmed !== 'None') return;
  throw new CollateralError('BROKER_ESCROW_UNCONFIRMED', {
    expected: 'an escrow with the confirmations that the data owner demands',
    got: 'one in a newer block',
    rule: "the data owner's release policy",
    action: 'ask again when the chain has grown',
  });
}

function requireSame(code: string, what: string, expected: Uint8Array, got: Uint8Array): void {
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
