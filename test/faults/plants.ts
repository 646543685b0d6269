/** Faults of the system itself, planted on purpose: a run that does not report each of them proves nothing. */
import type { PlantName } from './plant.js';
import { planOf, type Plan } from './plan.js';
import { runSession } from './session.js';

interface PlantReport {
  readonly plant: PlantName;
  /** The first violation or leak that was reported; null: the plant was missed. */
  readonly found: string | null;
  readonly seeds: number;
}

const seedsMax = 6;

/** Seeds on one cluster with the plant in it, until a violation is reported or there were enough. */
export async function findPlant(plant: PlantName, note: (line: string) => void): Promise<PlantReport> {
  let found: string | null = null;
  let seeds = 0;
  const plans = function* (): Generator<Plan> {
    while (found === null && seeds < (plant === 'plaintext-on-disk' ? 1 : seedsMax)) yield planFor(plant, ++seeds);
  };
  const { leaks } = await runSession(
    { plans: plans(), plant },
    note,
    ({ violations }) => (found ??= violations[0] ?? null),
  );
  return { plant, found: found ?? leaks[0] ?? null, seeds };
}

/** A fence is only missed where a node comes back after its lease, and finds another one at work. */
function planFor(plant: PlantName, number: number): Plan {
  const plain = { ...planOf(number), renews: false, faults: [] };
  // The session that averages looks at the grants of its workers: one enclave alone takes what is planted.
  if (plant === 'grant-of-another-broker') return { ...plain, steps: 4 * plain.segmentSteps, parallel: 1 };
  if (plant !== 'no-fence') return plain;
  const segmentSteps = 300;
  const fault = { kind: 'partition', part: 'holder' } as const;
  const moment = { at: 'checkpoint', checkpoint: 1, afterMs: 0 } as const;
  return { ...plain, steps: 4 * segmentSteps, segmentSteps, parallel: 1, faults: [{ fault, moment, forMs: 8000 }] };
}
