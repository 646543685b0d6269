/** Runs and proofs that are on disk: to the control plane first, and to the chain what it has taken. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Rejection } from '#attestation/base';
import { note } from '#libs/node';
import { pattern } from '#libs/wire';
import type { KeptJob, KeptProof } from './kept-jobs.js';
import type { NodeParts } from './parts.js';

const pauseMs = 1000;

/**
 * The job may have been given to another node meanwhile, and a run on chain whose result nobody hands out is paid for
 * nothing. Telling it again is harmless; it stays on disk until there is an answer.
 *
 * @throws Rejection of the control plane: another lease counts; whatever else where `stop` comes first
 */
export async function handOver(
  { jobId, delivery }: Pick<KeptJob, 'jobId' | 'delivery'>,
  { controlPlane, kept }: Pick<NodeParts, 'controlPlane' | 'kept'>,
  stop: AbortSignal,
): Promise<void> {
  if (delivery === null) return;
  for (;;) {
    try {
      await controlPlane.send(pattern.leaseDeliver, delivery);
      return kept.closeDelivery(jobId, 'taken');
    } catch (error) {
      if (error instanceof Rejection) kept.closeDelivery(jobId, 'refused');
      if (error instanceof Rejection || stop.aborted) throw error;
      note(`deliver ${jobId}`, error);
      await sleep(pauseMs, null, { signal: stop }).catch(() => null);
    }
  }
}

/** What a process before this one had not yet handed over, or not heard the answer to. */
export async function handOverLeft(parts: NodeParts, stop: AbortSignal): Promise<void> {
  const handOverOne = async (jobId: string): Promise<void> => {
    try {
      const job = parts.kept.find(jobId);
      if (job !== null) await handOver(job, parts, stop);
    } catch (error) {
      note(`deliver ${jobId}`, error);
    }
  };
  await Promise.all(parts.kept.ids().map(handOverOne));
}

type DeliveryParts = Pick<NodeParts, 'controlPlane' | 'kept' | 'store'>;

export async function tellProof({ claim, bundle, document, logged }: KeptProof, parts: DeliveryParts): Promise<void> {
  const blob = await parts.store.putBlob(bundle);
  await parts.controlPlane.send(pattern.proofDeliver, { ...claim, blob, document, ...(logged && { logged }) });
  parts.kept.markTold(claim.jobId, claim.index);
}

/**
 * Tells proofs whose answer never came, each once more in the life of a process where it is refused.
 *
 * @param afterMs  so long an answer may still be on its way
 */
export function openProofTeller(
  parts: DeliveryParts,
  afterMs = 10_000,
): (job: Pick<KeptJob, 'jobId' | 'proofs' | 'told'>) => Promise<void> {
  const refused = new Set<string>();
  const seenAt = new Map<string, number>();
  return async ({ jobId, proofs, told }) => {
    for (const index of proofs) {
      const name = `${jobId} ${index}`;
      if (told.includes(index) || refused.has(name)) continue;
      const now = performance.now();
      const since = seenAt.get(name) ?? now;
      seenAt.set(name, since);
      const proof = now - since < afterMs ? null : parts.kept.proof(jobId, index);
      if (proof === null) continue;
      try {
        await tellProof(proof, parts);
      } catch (error) {
        if (!(error instanceof Rejection)) throw error;
        note(`proof ${index} of ${jobId}`, error);
        refused.add(name);
      }
    }
  };
}
