/**
 * The key broker's word that this session may work on this job (attestation/SPEC.md §9). Terms come from the host and
 * name the broker; the job is their digest, so a grant of the host's own making is one for an escrow of the host's own
 * making.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { equalBytes, recoverAddress, Rejection, toHex } from '#attestation/base';
import {
  domainSeparator,
  escrowIdOf,
  keysDigest,
  releaseDigest,
  type JobSpec,
  type KeyBinding,
  type ReleasedSession,
  type Terms,
} from '#attestation/records';

export interface GrantedJob {
  readonly spec: JobSpec;
  readonly terms: Terms;
}

/** What a release must say beside whom it is for. */
type Named = Pick<ReleasedSession['release'], 'job' | 'dataset' | 'policy'>;

/** @throws Rejection GRANT_SIGNER, GRANT_JOB, GRANT_SESSION, GRANT_KEY, SEAL_SIGNATURE */
export function checkGrant(granted: GrantedJob, session: ReleasedSession, sealedKey: Uint8Array): void {
  const broker = signerOf(granted, session);
  if (!equalBytes(broker, granted.terms.keyBroker)) {
    throw refused('GRANT_SIGNER', `a release by ${toHex(granted.terms.keyBroker)}`, `one by ${toHex(broker)}`);
  }
  for (const [what, expected, got] of ofJob(granted, session.release)) same('GRANT_JOB', what, expected, got);
  for (const [what, expected, got] of ofSession(session)) same('GRANT_SESSION', what, expected, got);
  same('GRANT_KEY', 'the digest of the sealed key', session.release.grant, sha256(sealedKey));
}

/**
 * That the broker of these terms released another session for the same job.
 * @param own binding of the session that asks: all of a job's sessions are paid to one account
 * @throws Rejection CHECKPOINT_SESSION
 */
export function checkReleased(granted: GrantedJob, session: ReleasedSession, own: KeyBinding): void {
  const wanted = [
    ['the signer', granted.terms.keyBroker, signerOf(granted, session)],
    ...ofJob(granted, session.release),
    ...ofSession(session),
    ['the provider', own.provider, session.binding.provider],
  ] as const;
  for (const [what, expected, got] of wanted) same('CHECKPOINT_SESSION', what, expected, got);
}

function signerOf({ spec }: GrantedJob, { release, signature }: ReleasedSession): Uint8Array {
  const { chainId, contract } = spec.settlement;
  return recoverAddress(releaseDigest(domainSeparator({ chainId, verifyingContract: contract }), release), signature);
}

type Comparison = readonly [what: string, expected: Uint8Array, got: Uint8Array];

function ofJob({ spec, terms }: GrantedJob, { job, dataset, policy }: Named): Comparison[] {
  return [
    ['the escrow', escrowIdOf(terms), job],
    ['the data set', spec.dataset.id, dataset],
    ['the policy', terms.policy, policy],
  ];
}

function ofSession({ binding, release }: ReleasedSession): Comparison[] {
  return [
    ['the session', keysDigest(binding), release.session],
    ['the settlement key', binding.settlementKey, release.key],
    ['the provider', binding.provider, release.provider],
  ];
}

function same(code: string, what: string, expected: Uint8Array, got: Uint8Array): void {
  if (!equalBytes(expected, got)) throw refused(code, `${what} ${toHex(expected)}`, toHex(got));
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'enclave/SPEC.md, grant',
    action: 'ask the key broker that the terms name for a release to this session for this job',
  });
}
