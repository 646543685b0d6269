/** A sampled job between commit and payment: the client draws with its seed and waits for the proofs of what it drew. */
import type { Terms } from '#attestation/records';
import { ended, type ClientChain } from './chain.js';
import { settleEscrow } from './settle.js';

/**
 * Draws where nobody has; where a proof is late, ends the escrow, which gives back the price and half of the stake.
 *
 * @param seed preimage of Terms.seedCommitClient; without it the draw is left to a block, once the draw window has passed
 * @returns the segments that were drawn, all of them proved on chain
 * @throws Rejection ESCROW_ENDED
 */
export async function untilSampleProved(
  chain: ClientChain,
  terms: Terms,
  seed: Uint8Array | undefined,
): Promise<readonly number[]> {
  const { escrow } = chain;
  await chain.untilCommitted(terms);
  for (;;) {
    const job = await escrow.job(terms);
    const open = await escrow.duties.undischarged(terms);
    if (open?.length === 0) return (await escrow.duties.sampleOf(terms))!;
    if (job.state !== 'Committed') throw ended(job.state);
    const isLate = open !== null && (await chain.now()) > job.setDeadline;
    if (open === null || isLate) await settleEscrow(escrow, terms, await chain.now(), seed);
    await chain.pause();
  }
}
