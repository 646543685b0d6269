/**
 * Proofs of every segment, which a run of a job with assurance `tee+zk` owes and this host's stake is for. Others make them, and
 * nobody else is bound to bring one to the chain: so the host has all of them before it commits the run, and brings what others
 * leave out.
 */
import { setImmediate } from 'node:timers/promises';
import { to0x, toHex } from '#attestation/base';
import { decodeTerms, JobMode, parseJobSpec, type Terms } from '#attestation/records';
import { bringProofs, fetchProof, parseProofAcquired, type CipherStore, type ControlPlane } from '#libs/node';
import type { SettlementClient } from '#libs/settlement';
import { pattern } from '#libs/wire';
import type { KeptProofs } from './kept-proofs.js';
import { hasResult, type PendingEscrow, type PendingResult } from './pending.js';

/** Whether every segment of the run must be proved, whatever becomes of its seal. */
export function owesProofs({ mode }: Pick<Terms, 'mode'>): boolean {
  return (mode & JobMode.full) !== 0;
}

/** Segments of its run, once there is one, whose proofs are not here. Of what a former version accepted none is known. */
export function lackingProofs(held: PendingEscrow, proofs: KeptProofs): readonly number[] {
  if (held.spec === undefined || !hasResult(held)) return [];
  const here = new Set(proofs.held(toHex(held.jobId)));
  return Array.from({ length: held.result.run.upTo }, (_, index) => index).filter((index) => !here.has(index));
}

interface KeepingParts {
  readonly controlPlane: ControlPlane;
  readonly store: Pick<CipherStore, 'getBlob'>;
  readonly pending: { readonly proofs: KeptProofs };
}

/**
 * Keeps one of those that others brought to the control plane. What it says is left does not count: what is here does. One that
 * cannot be had, or does not hold, keeps no other back: it is asked for again when there is no other.
 * @returns whether there was one
 * @throws what `fetchProof`, `keep` and the control plane throw
 */
export async function keepNextProof(held: PendingEscrow, nodeId: string, parts: KeepingParts): Promise<boolean> {
  const { controlPlane, store, pending } = parts;
  const lacking = lackingProofs(held, pending.proofs);
  if (lacking.length === 0 || !hasResult(held)) return false;
  const jobId = toHex(held.jobId);
  const failed = pending.proofs.failed(jobId);
  const holding = [...new Set([...pending.proofs.held(jobId), ...failed])];
  const question = { nodeId, waitMs: 0, jobId: to0x(held.jobId), countOnly: true, holding };
  const { elsewhere } = parseProofAcquired(await controlPlane.send(pattern.proofAcquire, question));
  if (elsewhere === null) {
    failed.clear();
    return false;
  }
  failed.add(elsewhere.index);
  if (!lacking.includes(elsewhere.index)) return false;
  const run = { spec: parseJobSpec(held.spec!), terms: decodeTerms(held.terms), borders: held.result.borders };
  pending.proofs.keep(jobId, elsewhere.index, await fetchProof(elsewhere, run, store));
  failed.delete(elsewhere.index);
  return true;
}

/** Whether every proof that the run owes is here and can be read: a file that was damaged counts by its name until it is read. */
export async function hasReadableProofs(held: PendingEscrow, proofs: KeptProofs): Promise<boolean> {
  const jobId = toHex(held.jobId);
  const isWhole = (): boolean => lackingProofs(held, proofs).length === 0;
  if (held.spec === undefined || !isWhole()) return isWhole();
  for (const index of proofs.held(jobId)) {
    proofs.find(jobId, index);
    // Many take long: leases are to be prolonged meanwhile.
    await setImmediate();
  }
  return isWhole();
}

/**
 * Brings to the chain what it lacks of the proofs that are here.
 * @returns whether there were any
 * @throws what `bringProofs` throws
 */
export function bringHeld(
  held: PendingResult,
  terms: Terms,
  client: Pick<SettlementClient, 'duties' | 'domain'>,
  proofs: KeptProofs,
): Promise<boolean> {
  const jobId = toHex(held.jobId);
  const find = (index: number) => proofs.find(jobId, index);
  return bringProofs(proofs.held(jobId), { client, spec: parseJobSpec(held.spec!), terms, find });
}
