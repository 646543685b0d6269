/** One simulation from a seed: runs the world to its end and audits what is left. */
import { Audit } from './audit.js';
import type { FaultKind } from './faults.js';
import type { Invariant, Violation } from './invariants.js';
import type { Plant } from './replica.js';
import { openStore, type EngineName } from './store.js';
import { World, type WorldSize } from './world.js';
import { Job } from '#libs/persistence';

export interface SimulationOptions extends WorldSize {
  readonly seed: number;
  readonly engine: EngineName;
}

export interface SimulationReport extends SimulationOptions {
  /** Jobs by the state that they ended in. */
  readonly byState: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<FaultKind, number>>;
  /** How often each invariant was checked. */
  readonly checks: Readonly<Record<Invariant, number>>;
  readonly violations: readonly Violation[];
  readonly events: number;
  readonly virtualSeconds: number;
}

const noPlant: Plant = () => [];

export async function simulate(options: SimulationOptions, plant: Plant = noPlant): Promise<SimulationReport> {
  const store = await openStore(options.engine);
  try {
    const world = new World(store, options.seed, options, plant);
    await world.run();
    const audit = new Audit(world);
    await audit.run();
    const byState: Record<string, number> = {};
    for (const { state } of await store.manager.find(Job)) byState[state] = (byState[state] ?? 0) + 1;
    const { checks, violations } = audit;
    const { events, now } = world.scheduler;
    const virtualSeconds = Math.round(now / 1000);
    return { ...options, byState, faults: world.faults.counts, checks, violations, events, virtualSeconds };
  } finally {
    await store.close();
  }
}
