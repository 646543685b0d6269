/** How the steps of a data-parallel job are divided: rounds of one segment for each worker (libs/step/SPEC.md §20). */
import { workersMax } from '#attestation/base';
import { refuse } from './errors.js';
import type { Manifest } from './manifest.js';

export interface Division {
  /** Workers of a round; 1: a plain job, whose rounds are its segments. */
  readonly workers: number;
  /** Steps of a worker in a round. */
  readonly segmentSteps: number;
  /** Steps between two borders; the last round of a plain job may be shorter. */
  readonly roundSteps: number;
  /** What escrow, seal and borders count. */
  readonly rounds: number;
}

export interface Divided {
  readonly segmentSteps: number;
  /** Workers; absent: 1. */
  readonly parallel?: number;
}

/** @throws Rejection JOB_PARALLEL unless the steps of a data-parallel job are whole rounds */
export function divideSteps({ steps }: Pick<Manifest, 'steps'>, { segmentSteps, parallel = 1 }: Divided): Division {
  if (!Number.isSafeInteger(parallel) || parallel < 1 || parallel > workersMax) {
    refuse('JOB_PARALLEL', `1 to ${workersMax} workers`, parallel, rule);
  }
  const roundSteps = parallel * segmentSteps;
  if (parallel > 1 && steps % roundSteps !== 0) {
    refuse('JOB_PARALLEL', `whole rounds of ${parallel} segments of ${segmentSteps} steps`, `${steps} steps`, rule);
  }
  return { workers: parallel, segmentSteps, roundSteps, rounds: Math.ceil(steps / roundSteps) };
}

const rule = 'libs/step/SPEC.md §20';
