/** From terms to a job that this host owes a run of, whose settlement keys the chain knows. */
import { CollateralError, Rejection } from '#attestation/base';
import { type Terms } from '#attestation/records';
import { isEnded, type SettlementClient, type TxReceipt } from '#libs/settlement';
import type { Attested } from './job-session.js';
import { registerSession, type RegisteredSession, type SnpPolicies, type Transaction } from './registration.js';

/** What the chain is shown of a session: the broker's release, and the appraisals of attestors. */
export type Engaged = Pick<Attested, 'release' | 'releaseSignature' | 'appraisals'> & RegisteredSession;

export interface Engagement {
  readonly escrow: Pick<SettlementClient, 'job' | 'accept' | 'start' | 'keys' | 'snp' | 'signer'>;
  readonly policies: SnpPolicies;
  withStake<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * The registration comes before the stake is locked: what the registry refuses costs gas alone.
 * @throws CollateralError HOST_ESCROW_MISSING; Rejection HOST_ESCROW_ENDED; those of registerSession; what the chain says
 */
export async function engage(
  terms: Terms,
  session: Engaged,
  { escrow, policies, withStake }: Engagement,
): Promise<readonly Transaction[]> {
  const { state } = await escrow.job(terms);
  if (state === 'None') throw noEscrow();
  if (isEnded(state)) throw ended(state);
  // The run that the chain has is this account's own; another session of it can only repeat its borders.
  if (state === 'Committed') return [];
  const named = (call: string, { txHash }: TxReceipt): Transaction => ({ call, hash: txHash });
  const release = { release: session.release, signature: session.releaseSignature };
  const appraisals = session.appraisals.map(({ appraisal, account, appraisalSignature }) => {
    return { appraisal, attestor: account, signature: appraisalSignature };
  });
  const done = [...(await registerSession(terms, policies, session, escrow))];
  if (state !== 'Started') {
    done.push(named('accept', await withStake(() => escrow.accept(terms))));
    done.push(named('start', await escrow.start(terms, release, appraisals)));
  }
  // Another machine of this account may have started it meanwhile.
  const { isBound } = await escrow.keys.standing(terms, session.release.key);
  if (!isBound) done.push(named('bind', await escrow.keys.bind(terms, release, appraisals)));
  return done;
}

/** Whether a session of the account is bound to the escrow. @throws Rejection HOST_ESCROW_ENDED */
export async function hasStarted(terms: Terms, escrow: SettlementClient): Promise<boolean> {
  const { state } = await escrow.job(terms);
  if (isEnded(state)) throw ended(state);
  return state === 'Started';
}

function noEscrow(): CollateralError {
  return new CollateralError('HOST_ESCROW_MISSING', {
    expected: 'an escrow under the terms of the job',
    got: 'none on the chain of this host',
    rule: 'contracts/SPEC.md §6',
    action: 'wait until the chain of this host has the block in which it was opened',
  });
}

function ended(state: string): Rejection {
  return new Rejection('HOST_ESCROW_ENDED', {
    expected: 'an escrow that may still pay',
    got: `one that is ${state}`,
    rule: 'contracts/SPEC.md §6',
  });
}
