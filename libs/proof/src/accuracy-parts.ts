/** Into which parts a set of records is cut for statements about it, and under which profile (libs/proof/SPEC.md §9). */
import { Rejection } from '#attestation/base';
import type { Manifest } from '#libs/step';
import { deriveAccuracyPlan, profileNamed, type Plan } from '#libs/zk/verifier';
import { admitParts } from './openings.js';

/** The fastest first. */
const preference = ['fast64-blake3', 'large-blake3'];
/** Up to so many records, one part costs no more than two. */
const smallSet = 2048;

/**
 * One part where the profile carries it and few records fill it up to a power of two, for those are worked on, too. Else
 * parts of the largest power of two that the set fills and the profile carries, and one of the rest.
 *
 * @param profile  by name; auto: the first whose proofs are no more than the weights may be opened
 * @param isBorder the commitment to the weights is a border of a job
 * @throws Rejection STEP_PLAN, STEP_EXTENSION; OPENING_BUDGET when there are more parts than the weights may be opened
 */
export function accuracyParts(manifest: Manifest, profile: string, records: number, isBorder = false): readonly Plan[] {
  const names = profile === 'auto' ? preference : [profile];
  let refusal: Rejection | undefined;
  for (const name of names) {
    try {
      const plans = cut(manifest, name, records);
      admitParts(plans.length, profileNamed(name), isBorder);
      return plans;
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      refusal = error;
    }
  }
  throw refusal!;
}

function cut(manifest: Manifest, name: string, records: number): Plan[] {
  const above = 2 ** Math.ceil(Math.log2(Math.max(records, 1)));
  const one = records <= smallSet || 4 * records > 3 * above ? carried(manifest, name, records) : undefined;
  if (one !== undefined) return [one];
  for (let size = above / 2; size >= 1; size /= 2) {
    const whole = carried(manifest, name, size);
    if (whole === undefined) continue;
    const rest = records % size;
    const plans = Array.from({ length: Math.floor(records / size) }, () => whole);
    return rest === 0 ? plans : [...plans, deriveAccuracyPlan(manifest, profileNamed(name), rest)];
  }
  return [deriveAccuracyPlan(manifest, profileNamed(name), records)];
}

/** Its plan, where a part of so many records reaches 100 bits. */
function carried(manifest: Manifest, name: string, records: number): Plan | undefined {
  try {
    return deriveAccuracyPlan(manifest, profileNamed(name), records);
  } catch (error) {
    if (error instanceof Rejection && error.code === 'STEP_PLAN') return undefined;
    throw error;
  }
}
