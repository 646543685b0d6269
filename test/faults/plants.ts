/** Faults of the system itself, planted on purpose: a run that does not report each of them proves nothing. */
import type { PlantName } from './plant.js';
import { planOf, type Plan } from './plan.js';
import { runSession } from './session.js';

export interface PlantReport {
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

/** A fence is only missed where a node comes back after its lease: each node in turn is stopped for longer. */
function planFor(plant: PlantName, number: number): Plan {
  if (plant !== 'no-fence') return { ...planOf(number), renews: false, faults: [] };
  const part = number % 2 === 0 ? 'node-nats' : 'node-tls';
  const fault = { kind: 'stop', part } as const;
  const segmentSteps = 1000;
  return {
    seed: number,
    ...{ steps: 4 * segmentSteps, segmentSteps, parallel: 1, renews: false },
    faults: [{ fault, moment: { at: 'checkpoint', checkpoint: 1, afterMs: 0 }, forMs: 9000 }],
  };
}
