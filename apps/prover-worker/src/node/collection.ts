/** What is seen to of every kept job, whether a lease works on it or not: its proofs and its stake. */
import { decodeTerms } from '#attestation/records';
import { note, type HeldLeases } from '#libs/node';
import { openProofTeller } from './deliveries.js';
import type { NodeParts } from './parts.js';

type CollectionParts = Pick<NodeParts, 'controlPlane' | 'escrow' | 'kept' | 'store' | 'watch'>;

export function collectionOf(parts: CollectionParts, held: Pick<HeldLeases, 'hasJob' | 'cancelJob'>) {
  const { escrow, kept, watch } = parts;
  const tellProofs = openProofTeller(parts);
  return {
    jobs: () => kept.ids(),
    isInHand: () => false,
    async collect(jobId: string) {
      const job = kept.find(jobId);
      if (job === null) return 'end';
      const told = tellProofs(job).catch((error: unknown) => {
        watch.failure('escrow');
        note(`tell ${jobId}`, error);
      });
      const step = await escrow.collect(job, held.hasJob(jobId) ? () => held.cancelJob(jobId) : undefined);
      if (step === 'end') {
        if (job.isStaked) watch.event('stake-kept', { wei: String(await escrow.freeStake(decodeTerms(job.terms))) });
        kept.remove(jobId);
      }
      await told;
      return step;
    },
    watch,
  };
}
