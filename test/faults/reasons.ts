/** Whether an end is the true one: settled, or for a reason that a fault of the seed explains. */
import type { JobView } from '../../apps/cli/src/job/follow.js';
import type { Fault, Plan } from './plan.js';

/** Codes that a fault explains; what is not named here keeps no job from being settled. */
const explained: Partial<Readonly<Record<Fault['kind'], RegExp>>> = {};
/** Of the control plane where nothing is set: so many attempts a job has outside of these runs. */
const attemptsMax = 5;

/** @returns the violations */
export function checkReason({ state, code, attempt }: Pick<JobView, 'state' | 'code' | 'attempt'>, plan: Plan): string[] {
  const kinds = new Set(plan.faults.map(({ fault }) => fault.kind));
  const violations: string[] = [];
  if (state !== 'settled' && ![...kinds].some((kind) => explained[kind]?.test(code ?? ''))) {
    violations.push(`${state} ${code ?? 'without a reason'}, which no fault of the seed explains`);
  }
  if (kinds.size === 1 && kinds.has('broker-away') && attempt > attemptsMax) {
    violations.push(`${attempt} attempts while the key broker was away, expected at most ${attemptsMax}`);
  }
  return violations;
}
