/** Kept proofs on their way to the chain. */
import { CollateralError } from '#attestation/base';
import type { JobSpec, Terms } from '#attestation/records';
import type { SettlementClient } from '#libs/settlement';
import { sealOf, type ProofFiles } from './step-seal.js';

interface Bringing {
  readonly client: Pick<SettlementClient, 'duties' | 'domain'>;
  readonly spec: JobSpec;
  readonly terms: Terms;
  /** Null where it is not kept. */
  find(index: number): ProofFiles | null;
}

/**
 * Only of the run that the chain knows: a proof of another would be refused there. One that is refused, or damaged, keeps no
 * other back.
 *
 * @param segments what the chain has of them already is left out
 * @returns whether any was brought there
 * @throws what the first that could not be brought threw; CollateralError of the chain at once
 */
export async function bringProofs(
  segments: readonly number[],
  { client, spec, terms, find }: Bringing,
): Promise<boolean> {
  if (segments.length === 0) return false;
  const borders = await client.duties.bordersOf(terms);
  const failures: unknown[] = [];
  let isAny = false;
  for (const index of segments) {
    if (await client.duties.isProved(terms, index)) continue;
    try {
      const proof = find(index);
      if (proof === null) continue;
      await client.duties.discharge(terms, index, borders, sealOf(client.domain, terms, spec, index, proof));
      isAny = true;
    } catch (error) {
      if (error instanceof CollateralError) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return isAny;
}
