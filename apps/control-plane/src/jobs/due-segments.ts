/** Which segments of a job its escrow wants proved, from what the chain shows. */
import { sampleOf, type ProjectedJob } from '#libs/settlement';
import type { EscrowTerms } from './escrow-terms.js';

/** Segments that were drawn, in order; null while none are. */
export function drawnSegments({ samples }: EscrowTerms, projected: ProjectedJob | null): readonly number[] | null {
  if (projected === null || projected.sample === null) return null;
  return [...new Set(sampleOf(projected.sample.seed, samples, projected.upTo))].sort((a, b) => a - b);
}

/** Segments that were due, drawn or challenged, and of which the contract has seen no proof. */
export function unprovedSegments(terms: EscrowTerms, projected: ProjectedJob): readonly number[] {
  const drawn = drawnSegments(terms, projected) ?? [];
  return Array.from({ length: projected.upTo }, (_, index) => index).filter((index) => {
    const duty = projected.duties.get(index);
    const isDue = projected.setDue?.all === true || drawn.includes(index) || duty?.challenger != null;
    return isDue && duty?.proved !== true;
  });
}
