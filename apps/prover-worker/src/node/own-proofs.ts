/**
 * Proofs that this node's own stake is for. Others may prove, too, but whoever has the stake keeps every proof, for nobody
 * else is bound to bring one to the chain; and where others keep segments and bring nothing, it proves itself.
 */
import { setImmediate } from 'node:timers/promises';
import { ConfigurationError, Rejection } from '#attestation/base';
import { checkOfRun, fetchProof, note, parseProofAcquired, type StakedRun } from '#libs/node';
import { pattern, type ProofElsewhere, type ProofTask } from '#libs/wire';
import type { NodeParts } from './parts.js';

interface StakedJob extends StakedRun {
  /** 0x-hexadecimal. */
  readonly jobId: string;
}

type Next =
  | { readonly task: ProofTask; readonly left: number }
  /** `kept`: a proof that another node brought is on this node's disk now. */
  | { readonly task: null; readonly kept: boolean; readonly left: number };

export interface OwnProofs {
  /**
   * Drops kept proofs of these segments that do not hold for the run, so that they are made again: they may be from before it,
   * of what others handed over, or damaged. Looks at each once.
   */
  dropForeign(segments: readonly number[]): Promise<void>;
  /** What of these segments is to be proved next. @throws Rejection and CollateralError of the control plane */
  next(segments: readonly number[]): Promise<Next>;
}

type Parts = Pick<NodeParts, 'controlPlane' | 'kept' | 'nodeId' | 'settings' | 'store'>;

/** @param patienceMs so long nothing may come of what others have claimed */
export function openOwnProofs(job: StakedJob, parts: Parts, patienceMs: number): OwnProofs {
  const { controlPlane, kept, nodeId, settings } = parts;
  const { jobId } = job;
  const checked = new Set<number>();
  /** By others, and not to be had of late. */
  const failed = new Set<number>();
  let [movedAt, insists, leftBefore] = [performance.now(), false, Infinity];
  return {
    async dropForeign(segments) {
      const held = kept.find(jobId)?.proofs ?? [];
      for (const index of segments.filter((one) => held.includes(one) && !checked.has(one))) {
        checked.add(index);
        try {
          checkOfRun(job, index, kept.proof(jobId, index)!);
        } catch (error) {
          note(`kept proof ${index} of ${jobId}`, error);
          // What this machine failed at says nothing of the proof.
          if (error instanceof Rejection || error instanceof ConfigurationError) kept.dropProof(jobId, index);
          else checked.delete(index);
        }
        // Many take long: claims and leases are to be prolonged meanwhile.
        await setImmediate();
      }
    },
    async next(segments) {
      insists ||= performance.now() - movedAt > patienceMs;
      // A node that proves claims what it cannot have; any other passes it over, and asks again when there is no other.
      const passed = settings.proves ? [] : failed;
      const holding = [...new Set([...(kept.find(jobId)?.proofs ?? []), ...passed])];
      const question = { nodeId, waitMs: 0, jobId, countOnly: !settings.proves, holding, insists };
      const answer = parseProofAcquired(await controlPlane.send(pattern.proofAcquire, question));
      const left = answer.left ?? 0;
      if (answer.task !== null || left < leftBefore) movedAt = performance.now();
      leftBefore = left;
      if (answer.task !== null) return { task: answer.task, left };
      if (answer.elsewhere === null) {
        failed.clear();
        return { task: null, kept: false, left };
      }
      const { index } = answer.elsewhere;
      const isKept = segments.includes(index) && (await keep(answer.elsewhere, job, parts));
      // What cannot be had, or does not hold, is proved here.
      insists ||= !isKept;
      if (!isKept) failed.add(index);
      return { task: null, kept: isKept, left };
    },
  };
}

async function keep(elsewhere: ProofElsewhere, job: StakedJob, parts: Parts): Promise<boolean> {
  const { store, kept, nodeId } = parts;
  const [{ jobId }, { index }] = [job, elsewhere];
  try {
    const proof = await fetchProof(elsewhere, job, store);
    kept.keepProof({ claim: { nodeId, jobId, index, fence: 1 }, ...proof });
    kept.markTold(jobId, index);
    return true;
  } catch (error) {
    note(`proof ${index} of ${jobId} by another node`, error);
    return false;
  }
}
