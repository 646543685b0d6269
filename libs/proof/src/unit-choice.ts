/** When one proof of several segments costs a job less than a proof of each (libs/zk/SPEC.md §20). */
import { Rejection } from '#attestation/base';
import type { Manifest } from '#libs/step';
import { derivePlan, profileNamed, type Plan, type Variant } from '#libs/zk/verifier';
import { dearestProofCost, gasOfJob, proofCost } from './proof-cost.js';

/** Profiles whose proofs cover several segments, the shortest first. */
export const unitProfiles = ['unit64', 'unit1024', 'unit2048'] as const;

/** What a unit needs beside a manifest. */
export interface UnitNeeds {
  /** Records of the data set, all of which one commitment holds. */
  readonly records: number;
  /** Most linear memory of a prover. */
  readonly memoryBytes: number;
}

/** The plan of a unit, or undefined where the net, the data set, a prover or a transaction has no room for it. */
export function unitPlan(manifest: Manifest, name: string, variant: Variant, needs: UnitNeeds): Plan | undefined {
  const { unitSteps = 1 } = profileNamed(name);
  if (manifest.superblock >= unitSteps || needs.records > unitSteps * manifest.batch) return undefined;
  try {
    const plan = derivePlan(manifest, profileNamed(name), variant);
    const { gas, memoryBytes } = dearestProofCost(manifest, plan);
    return gas === undefined || memoryBytes > needs.memoryBytes ? undefined : plan;
  } catch (error) {
    if (error instanceof Rejection && error.code === 'STEP_PLAN') return undefined;
    throw error;
  }
}

/** The unit whose proofs of a whole job cost the least gas, less than those of its segments, and no more of a core. */
export function cheaperUnit(manifest: Manifest, ofSegment: Plan, needs: UnitNeeds): Plan | undefined {
  const segments = jobCost(manifest, ofSegment);
  return unitProfiles
    .map((name) => unitPlan(manifest, name, ofSegment.variant, needs))
    .filter((plan) => plan !== undefined)
    .map((plan) => ({ plan, ...jobCost(manifest, plan) }))
    .filter(({ gas, cpuSeconds }) => gas < segments.gas && cpuSeconds <= segments.cpuSeconds)
    .toSorted((a, b) => a.gas - b.gas)[0]?.plan;
}

function jobCost(manifest: Manifest, plan: Plan): { readonly gas: number; readonly cpuSeconds: number } {
  const proofs = Math.ceil(manifest.steps / plan.shape.steps);
  return { gas: gasOfJob(manifest, plan, proofs) ?? Infinity, cpuSeconds: proofs * proofCost(plan).cpuSeconds };
}
