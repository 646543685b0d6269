/**
 * Statements of the accounts that terms name, with their signatures, as the contracts take them. contracts/SPEC.md §3,
 * §10.
 */
import { equalBytes, Rejection, to0x } from '#attestation/base';
import { type Appraisal, type Release, type Terms } from '#attestation/records';
import { checksummed } from './chain.js';
import type { ApprovalStruct, GrantStruct } from './types/Settlement.js';

/** By the key broker of the terms. */
export interface SignedRelease {
  readonly release: Release;
  /** r ‖ s ‖ v, as all below. */
  readonly signature: Uint8Array;
}

/** By one of the attestors of the terms. */
export interface SignedAppraisal {
  readonly appraisal: Appraisal;
  readonly attestor: Uint8Array;
  readonly signature: Uint8Array;
}

/** Of a statement that several accounts sign alike: Revocation, Availability. */
export interface SignatureOf {
  readonly signer: Uint8Array;
  readonly signature: Uint8Array;
}

/** Job, provider and policy are the job's own: the contract adds them. */
export function grantStruct({ release, signature }: SignedRelease): GrantStruct {
  const { dataset, session, key, evidence, grant, nonce, grantedAt, notAfter } = release;
  return { dataset, session, key: checksummed(key), evidence, grant, nonce, grantedAt, notAfter, signature };
}

/**
 * As many as the terms need, in the order of their list.
 * @throws Rejection QUORUM_SIGNER, QUORUM_SHORT
 */
export function approvalStructs(terms: Terms, appraisals: readonly SignedAppraisal[]): ApprovalStruct[] {
  const placed = inOrder(terms.attestors, appraisals, ({ attestor }) => attestor);
  return enough(placed, terms.needed).map(({ appraisal: { evidence, notAfter }, signature }) => ({
    ...{ evidence, notAfter, signature },
  }));
}

/**
 * Of key broker and attestors together, the broker first, max(1, needed) of them.
 * @throws Rejection QUORUM_SIGNER, QUORUM_SHORT
 */
export function quorumSignatures(terms: Terms, signatures: readonly SignatureOf[]): Uint8Array[] {
  const placed = inOrder([terms.keyBroker, ...terms.attestors], signatures, ({ signer }) => signer);
  return enough(placed, Math.max(1, terms.needed)).map(({ signature }) => signature);
}

function inOrder<T>(listed: readonly Uint8Array[], given: readonly T[], signerOf: (one: T) => Uint8Array): T[] {
  const stranger = given.find((one) => !listed.some((account) => equalBytes(account, signerOf(one))));
  if (stranger !== undefined) {
    const expected = listed.map((account) => checksummed(account)).join(', ') || 'nobody';
    throw refused('QUORUM_SIGNER', expected, to0x(signerOf(stranger)));
  }
  return listed.flatMap((account) => given.filter((one) => equalBytes(signerOf(one), account)).slice(0, 1));
}

function enough<T>(placed: readonly T[], needed: number): readonly T[] {
  if (placed.length >= needed) return placed.slice(0, needed);
  throw refused('QUORUM_SHORT', `${needed} of the accounts that the terms list`, String(placed.length));
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'contracts/SPEC.md §10' });
}
