/** The verification key of statements about sets of so many records (libs/zk/SPEC.md §21). */
import type { Manifest } from '#libs/step';
import { accuracyShape } from './accuracy-shape.js';
import { requireImplemented, type Profile } from '../commit/params.js';
import { keptPlan, planOf, requireProvable, type Plan } from './plan.js';

/** @throws Rejection STEP_EXTENSION; STEP_PLAN when the count cannot be proved under this profile with 100 bits */
export function deriveAccuracyPlan(manifest: Manifest, profile: Profile, records: number): Plan {
  return keptPlan(manifest, profile, `accuracy ${records}`, (own) =>
    deriveAccuracyPlanUnchecked(own, requireImplemented(profile), records),
  );
}

/**
 * The plan without the soundness floor: for tests with small parameters. No door exports it.
 * @throws Rejection STEP_PLAN
 */
export function deriveAccuracyPlanUnchecked(manifest: Manifest, profile: Profile, records: number): Plan {
  const shape = accuracyShape(manifest, profile, records);
  requireProvable(manifest);
  return planOf(shape, profile, 'separate', 'fxt-zk/accuracy/plan/1');
}
