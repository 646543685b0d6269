/** Into which parts a set of records is cut for statements about it, and under which profile (libs/proof/SPEC.md §9). */
import { Rejection } from '#attestation/base';
import type { Manifest } from '#libs/step';
import { deriveAccuracyPlan, openingBudget, profileNamed, type Plan } from '#libs/zk/verifier';
import { accuracyPartsMax } from './limits.js';

/** The fastest first: where one does not reach 100 bits for a part of so many records, the next. */
const preference = ['fast64', 'large'];
/** A profile is chosen that carries parts of so many records. */
const usualPart = 4096;
/** Up to so many records, one part costs no more than two. */
const smallSet = 2048;

/**
 * One part where the profile carries it and few records fill it up to a power of two, for those are worked on, too. Else
 * parts of the largest power of two that the set fills and the profile carries, and one of the rest.
 *
 * @param profile  by name; auto: the first that carries a part of 4,096 records, or all there are
 * @param openings that the weights' commitment serves besides
 * @throws Rejection STEP_PLAN, STEP_EXTENSION; OPENING_BUDGET when every part's proof opens the weights' commitment too often
 */
export function accuracyParts(manifest: Manifest, profile: string, records: number, openings = 0): readonly Plan[] {
  const name = profile === 'auto' ? firstFor(manifest, Math.min(records, usualPart)) : profile;
  const plans = cut(manifest, name, records);
  const budget = openingBudget(profileNamed(name));
  if (plans.length > accuracyPartsMax || plans.length + openings > budget) {
    throw new Rejection('OPENING_BUDGET', {
      expected: `at most ${Math.min(budget - openings, accuracyPartsMax)} proofs that open the commitment to the weights`,
      got: `${plans.length} parts`,
      rule: 'libs/zk/SPEC.md §13.5',
      action: 'choose a profile that carries larger parts, or fewer records',
    });
  }
  return plans;
}

function firstFor(manifest: Manifest, records: number): string {
  const found = preference.find((name) => carried(manifest, name, records) !== undefined);
  return found ?? preference.at(-1)!;
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
