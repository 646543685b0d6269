/** Whether an end is the true one: settled, or for a reason that a fault of the seed explains. */
import type { JobView } from '#libs/client';
import type { Plan, PlannedFault } from './plan.js';

type End = Pick<JobView, 'state' | 'code' | 'reason' | 'attempt'>;

/** Of the control plane where nothing is set: so many attempts a job has outside of these runs. */
const attemptsMax = 5;

/** @returns the violations */
export function checkReason(end: End, { faults }: Pick<Plan, 'faults'>): string[] {
  const { state, code, reason, attempt } = end;
  const violations: string[] = [];
  if (state !== 'settled' && !faults.some((planned) => explains(planned, end))) {
    const why = `${state} ${code ?? 'without a reason'} ${JSON.stringify(reason)}`;
    violations.push(`${why.slice(0, 400)}: no fault of the seed explains it`);
  }
  const isAwayAlone = faults.length > 0 && faults.every(({ fault }) => fault.kind === 'broker-away');
  if (isAwayAlone && attempt > attemptsMax) {
    violations.push(`${attempt} attempts while the key broker was away, expected at most ${attemptsMax}`);
  }
  return violations;
}

/** Who believes that it is yesterday knows no certificate that a vendor issues today; anything else is waited for. */
function explains({ fault }: PlannedFault, { state, code, reason }: End): boolean {
  if (fault.kind !== 'clock' || fault.byMs > -86_400_000 || state !== 'refused') return false;
  const isOfDate = JSON.stringify(reason).includes('X509_PATH_NOT_YET');
  return isOfDate && code === (fault.part === 'key-broker' ? 'BROKER_REFUSED' : 'X509_PATH_NOT_YET');
}
