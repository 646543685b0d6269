/** Which named profile proves a manifest, and why: the first that reaches 100 bits, in the order that suits what it is for. */
import { Rejection } from '#attestation/base';
import type { Manifest } from '#libs/step';
import { derivePlan, isInTwoParts, profileNamed, profiles, type Plan, type Variant } from '#libs/zk/verifier';
import { transactionProofBytesMax } from './limits.js';
import { expectedProofBytes, fitsTransaction } from './proof-size.js';
import { cheaperUnit, type UnitNeeds } from './unit-choice.js';

/**
 * Profiles for short segments give short proofs, those for long segments prove more samples per second; `small` does
 * where it reaches 100 bits.
 */
const inPieces = [
  { stepsMax: 4, names: ['chain1', 'chain16', 'fast16', 'fast64', 'large'] },
  { stepsMax: 32, names: ['small', 'fast16', 'chain16', 'fast64', 'large'] },
  { stepsMax: Infinity, names: ['small', 'fast64', 'fast16', 'chain16', 'large'] },
];
/** Where no contract looks, hashing costs less. */
const offChain = inPieces.map(({ stepsMax, names }) => ({
  stepsMax,
  names: names.map((name) => (profiles.has(`${name}-blake3`) ? `${name}-blake3` : name)),
}));
/** Where a contract is to take each proof: digests are cut, levels added, and transactions, last. */
const forContract = ['chain1', 'chain16', 'chain26', 'chain64', 'steps128', 'chain256'];

interface PlanChoice {
  readonly plan: Plan;
  /** One sentence. */
  readonly why: string;
}

/**
 * @param name    a profile, or `auto`
 * @param onChain whether a contract is to take each proof; where none fits a transaction, or two, it goes there in pieces
 * @param needs   of a data set that is committed for this job, and whose proofs may cover several segments
 * @throws Rejection STEP_EXTENSION; STEP_PLAN when the manifest cannot be proved with 100 bits
 */
export function explainPlan(
  manifest: Manifest,
  name: string,
  variant: Variant,
  onChain = false,
  needs?: UnitNeeds,
): PlanChoice {
  if (name !== 'auto') return { plan: derivePlan(manifest, profileNamed(name), variant), why: 'asked for by name' };
  const T = manifest.superblock;
  const row = (onChain ? inPieces : offChain).find(({ stepsMax }) => T <= stepsMax)!;
  const { plan, refusal } = firstOf(manifest, row.names, variant);
  const usual = plan && { plan, why: `for segments of ${T} steps: the first of ${row.names.join(', ')} with 100 bits` };
  if (onChain) {
    const rates = manifest.optimizer.m.length;
    const { plan: fitting } = firstOf(manifest, forContract, variant, (plan) => fitsTransaction(plan, rates));
    const most = transactionProofBytesMax.toLocaleString('en');
    const unit = fitting && needs && cheaperUnit(manifest, fitting, needs);
    if (unit) {
      const proofs = Math.ceil(manifest.steps / unit.shape.steps);
      const [own, each] = [unit.shape.steps, fitting.shape.steps];
      const why = `${proofs} proofs of ${own} steps cost less gas than one for each ${each}, and take no longer`;
      return { plan: unit, why };
    }
    if (fitting) {
      const bytes = expectedProofBytes(fitting).toLocaleString('en');
      const room = isInTwoParts(fitting.profile) ? `two transactions (${most} in each)` : `one transaction (${most})`;
      const why = `about ${bytes} bytes: the first of ${forContract.join(', ')} whose proof fits ${room}`;
      return { plan: fitting, why };
    }
    if (usual) {
      const pieces = `no proof of it fits one transaction (${most}) or two, it goes in pieces`;
      const end = usual.plan.profile.oodPoints === 1 ? pieces : 'no contract verifies a proof of two points';
      return { ...usual, why: `${usual.why}; ${end}` };
    }
  }
  if (usual === undefined) throw refusal;
  return usual;
}

/** The plan of `explainPlan` where no contract takes the proof. */
export function choosePlan(manifest: Manifest, name: string, variant: Variant): Plan {
  return explainPlan(manifest, name, variant).plan;
}

function firstOf(
  manifest: Manifest,
  names: readonly string[],
  variant: Variant,
  fits: (plan: Plan) => boolean = () => true,
): { readonly plan?: Plan; readonly refusal?: Rejection } {
  let refusal: Rejection | undefined;
  for (const name of names) {
    try {
      const plan = derivePlan(manifest, profileNamed(name), variant);
      if (fits(plan)) return { plan };
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      refusal = error;
    }
  }
  return refusal === undefined ? {} : { refusal };
}
