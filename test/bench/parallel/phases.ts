/** Where the time of a data-parallel job's rounds goes, from what its control plane recorded. */
import type { ServerEvent } from '#libs/client';

/** Milliseconds, one of each for every round but the first, during which the workers join. */
export interface Phases {
  /** From the checkpoint before to the last claim of a segment. */
  readonly claim: number[];
  /** From the last claim to the first partial: start opened, steps trained, weights committed, sealed and uploaded. */
  readonly train: number[];
  /** From the first partial to the last. */
  readonly straggle: number[];
  /** From the last partial to the checkpoint: partials opened, averaged, committed, sealed and uploaded. */
  readonly average: number[];
}

interface Said {
  readonly at: string;
  readonly round?: number;
  readonly done?: boolean;
}

export function phasesOf(events: readonly ServerEvent[]): Phases {
  const phases: Phases = { claim: [], train: [], straggle: [], average: [] };
  const said = events.map(({ type, data }) => ({ type, ...(data as Said) }));
  const checkpoints = said.filter(({ type }) => type === 'checkpoint').map(timeOf);
  for (let round = 1; round < checkpoints.length; round++) {
    const own = said.filter((event) => event.type === 'segment' && event.round === round);
    const claims = own.filter(({ done }) => done === false).map(timeOf);
    const partials = own.filter(({ done }) => done === true).map(timeOf);
    const [claimed, first, last] = [Math.max(...claims), Math.min(...partials), Math.max(...partials)];
    phases.claim.push(claimed - checkpoints[round - 1]!);
    phases.train.push(first - claimed);
    phases.straggle.push(last - first);
    phases.average.push(checkpoints[round]! - last);
  }
  return phases;
}

function timeOf({ at }: Said): number {
  return Date.parse(at);
}
