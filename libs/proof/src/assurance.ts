/** Which assurance a job gets on a node: a decision of the job's value, the job's own demand and the node's hardware. */
import type { Assurance } from '#attestation/records';

export interface AssuredJob {
  /** What the job's spec asks for; at least this much is given. */
  readonly requested: Assurance;
  readonly priceWei: bigint;
  /** Price from which a job counts as high-value; null where only the flag does. */
  readonly highValueFromWei: bigint | null;
  readonly isHighValue: boolean;
}

export interface AssuringNode {
  readonly hasTee: boolean;
  /** Unix seconds until which its evidence counts; null before it was appraised. */
  readonly attestedUntil: number | null;
}

interface AssuranceDecision {
  readonly assurance: Assurance;
  readonly reason: 'NO_TEE' | 'TEE_LAPSED' | 'HIGH_VALUE' | 'REQUESTED';
}

/**
 * A node without a TEE proves. A node whose attestation has lapsed proves what is left, from its last attested border
 * on. On a node with a TEE a high-value job is proved besides. A sample is proved where one is asked for, of a job of no
 * high value: it finds a lazy node, not one poisoned segment (contracts/SPEC.md §8). Confidentiality is no part of
 * this: whether a node without a TEE may see the data is the key broker's decision.
 *
 * @param at unix seconds
 */
export function decideAssurance(job: AssuredJob, node: AssuringNode, at: number): AssuranceDecision {
  const isHighValue = job.isHighValue || (job.highValueFromWei !== null && job.priceWei >= job.highValueFromWei);
  if (job.requested === 'sampled') {
    return isHighValue ? { assurance: 'zk', reason: 'HIGH_VALUE' } : { assurance: 'sampled', reason: 'REQUESTED' };
  }
  if (!node.hasTee) return { assurance: 'zk', reason: 'NO_TEE' };
  if (node.attestedUntil !== null && node.attestedUntil <= at) return { assurance: 'zk', reason: 'TEE_LAPSED' };
  if (isHighValue && job.requested !== 'zk') return { assurance: 'tee+zk', reason: 'HIGH_VALUE' };
  return { assurance: job.requested, reason: 'REQUESTED' };
}
