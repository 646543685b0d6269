/**
 * Proofs that this node's own stake is for: segments drawn of a sampled job that it trained and delivered. They come
 * before new jobs, for whoever proves late loses the stake; other nodes may prove them too.
 */
import { decodeTerms } from '#attestation/records';
import { note, parseProofAcquired } from '#libs/node';
import { pattern } from '#libs/wire';
import { isSampled } from './draw.js';
import type { NodeParts } from './parts.js';
import type { runProof } from './proof-task.js';

/** A job of which nothing was to be proved is asked about again after this. */
const askAgainMs = 1000;
/** And one whose proof, or question, failed, after this. */
const tryAgainMs = 30_000;

interface DrawnProofs {
  /** @returns whether there was one to prove */
  proveNext(stop: AbortSignal): Promise<boolean>;
}

export function openDrawnProofs(parts: NodeParts, prove: typeof runProof): DrawnProofs {
  const { kept, controlPlane, nodeId } = parts;
  const quietUntil = new Map<string, number>();
  const quiet = (jobId: string, ms: number): void => void quietUntil.set(jobId, performance.now() + ms);
  const isOwn = (jobId: string): boolean => {
    try {
      const job = kept.find(jobId);
      return job !== null && job.borders !== null && isSampled(decodeTerms(job.terms));
    } catch (error) {
      note(`kept job ${jobId}`, error);
      quiet(jobId, tryAgainMs);
      return false;
    }
  };
  return {
    async proveNext(stop) {
      for (const jobId of kept.ids()) {
        if ((quietUntil.get(jobId) ?? 0) > performance.now() || !isOwn(jobId)) continue;
        quiet(jobId, tryAgainMs);
        const { task } = parseProofAcquired(
          await controlPlane.send(pattern.proofAcquire, { nodeId, waitMs: 0, jobId }),
        );
        if (task === null) {
          quiet(jobId, askAgainMs);
          continue;
        }
        if (await prove(task, parts, stop)) quiet(jobId, 0);
        return true;
      }
      return false;
    },
  };
}
