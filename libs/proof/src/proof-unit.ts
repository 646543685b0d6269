/** The largest segment that one proof covers and the contract takes, for a job and a machine. */
import { Rejection } from '#attestation/base';
import { provability, type Manifest } from '#libs/step';
import { profileNamed } from '#libs/zk/verifier';
import { planOf } from './statement.js';
import { explainPlan } from './plan-choice.js';
import { dearestProofCost, gasOfJob } from './proof-cost.js';
import { unitPlan, unitProfiles, type UnitNeeds } from './unit-choice.js';

/** What the proofs of a whole job cost where a contract checks each. */
export interface ProofUnit {
  /** That one proof covers. */
  readonly steps: number;
  readonly profile: string;
  readonly proofs: number;
  /** Expected bytes of one. */
  readonly proofBytes: number;
  /** That discharge them: one for each, or two for each and one for its discharge. */
  readonly transactions: number;
  /** Expected, of all transactions; null where the contract takes no such proof. */
  readonly gas: number | null;
  /** Expected, of one core, for all proofs. */
  readonly cpuSeconds: number;
  /** Most linear memory of a prover. */
  readonly memoryBytes: number;
}

/** In the spec of a job that Groth16 proves. */
const groth16Profile = 'groth16';

interface Proving {
  readonly profile: string;
  readonly variant: 'joint' | 'separate';
}

/** Steps that one proof covers: a superblock, or as many as the profile says. @throws Rejection STEP_PLAN of an unknown profile */
export function provenSteps({ superblock }: { readonly superblock: number }, profile: string): number {
  return profile === groth16Profile ? superblock : Math.max(superblock, profileNamed(profile).unitSteps ?? 1);
}

/** @param proofs how many segments are proved; all of them where absent. @throws Rejection STEP_PLAN */
export function proofUnitOf(manifest: Manifest, { profile, variant }: Proving, proofs?: number): ProofUnit {
  const plan = planOf({ manifest, profile, variant });
  const { proofBytes, transactions = 1, cpuSeconds, memoryBytes } = dearestProofCost(manifest, plan);
  const { steps } = plan.shape;
  const count = proofs ?? Math.ceil(manifest.steps / steps);
  return {
    ...{ steps, profile, proofs: count, proofBytes, memoryBytes },
    transactions: count * transactions,
    ...{ gas: gasOfJob(manifest, plan, count) ?? null, cpuSeconds: count * cpuSeconds },
  };
}

export interface UnitLimits extends UnitNeeds {
  readonly variant: Proving['variant'];
}

interface LargestUnit extends ProofUnit {
  /** The same with this unit, or a segment of it, as its superblock. */
  readonly manifest: Manifest;
}

/**
 * Fewest proofs first, then the shortest unit that makes as few.
 *
 * @throws Rejection STEP_UNIT where not even a step fits
 */
export function largestUnit(manifest: Manifest, limits: UnitLimits): LargestUnit {
  const { memoryBytes, records, variant } = limits;
  let best: LargestUnit | undefined;
  const most = Math.min(provability({ ...manifest, superblock: 1 }).segmentStepsMax, 2 * manifest.steps - 1);
  const lengths: number[] = [];
  for (let steps = 1; steps <= most && steps * manifest.batch <= records; steps *= 2) lengths.push(steps);
  const ofSegments = lengths.map((steps) => unitAt({ ...manifest, superblock: steps }, variant));
  for (const unit of [...ofSegments, ...unitsOf(manifest, lengths, limits)]) {
    if (unit === undefined || unit.gas === null || unit.memoryBytes > memoryBytes) continue;
    if (best === undefined || unit.proofs < best.proofs) best = unit;
  }
  if (best !== undefined) return best;
  throw new Rejection('STEP_UNIT', {
    expected: 'a segment whose proof fits its transactions and the prover',
    got: `none with ${memoryBytes} bytes of memory and ${records} records`,
    rule: 'libs/proof/SPEC.md §5',
    action: 'give the prover more memory, or take a smaller net or batch',
  });
}

/** A unit is at most so much longer than its job: the null steps behind its end cost as much as others. */
const timesTheJob = 4;

/** Of several segments each, whose length costs the least gas: a segment that the job ends in costs tables of all its steps. */
function unitsOf(manifest: Manifest, lengths: readonly number[], limits: UnitLimits): LargestUnit[] {
  const fitting = unitProfiles.filter((name) => profileNamed(name).unitSteps! <= timesTheJob * manifest.steps);
  return fitting.flatMap((profile) => {
    const units = lengths.toReversed().flatMap((superblock) => {
      const own = { ...manifest, superblock };
      if (unitPlan(own, profile, limits.variant, limits) === undefined) return [];
      return [{ ...proofUnitOf(own, { profile, variant: limits.variant }), manifest: own }];
    });
    return units.toSorted((a, b) => (a.gas ?? Infinity) - (b.gas ?? Infinity)).slice(0, 1);
  });
}

function unitAt(manifest: Manifest, variant: Proving['variant']): LargestUnit | undefined {
  try {
    const { plan } = explainPlan(manifest, 'auto', variant, true);
    return { ...proofUnitOf(manifest, { profile: plan.profile.name, variant }), manifest };
  } catch (error) {
    if (error instanceof Rejection && error.code === 'STEP_PLAN') return undefined;
    throw error;
  }
}
