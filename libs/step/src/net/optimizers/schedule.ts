/** Learning rates by points (libs/step/SPEC.md §24): straight lines between them, the last value after the end. */
import { refuse } from '../../errors.js';
import { divRound } from '../../integers.js';
import { bound, type NetBound } from '../edge.js';
import { JsonReader } from '../reader.js';

export interface Schedule {
  /** The real rate at step t is `λ_t·2^-frac`. */
  readonly frac: number;
  /** [step, λ], steps from 0 and never descending. Of equal steps the last counts; the others end the part before. */
  readonly points: readonly (readonly [number, number])[];
}

const pointsMax = 256;
/** `DIVR(n, d)` of float64 needs |2n + d| below it. */
const divisionLimit = 1n << 52n;

/** @throws Rejection MANIFEST_SCHEDULE, MANIFEST_RANGE, MANIFEST_TYPE */
export function parseSchedule(json: unknown): Schedule {
  const read = new JsonReader(json, 'optimizer.lr', ['frac', 'points']);
  const points = read.pairs('points', pointsMax, 0, Number.MAX_SAFE_INTEGER);
  points.forEach(([step], i) => {
    const isInOrder = i === 0 ? step === 0 : step >= points[i - 1]![0];
    if (!isInOrder) refuse('MANIFEST_SCHEDULE', 'steps from 0, never descending', step, 'libs/step/SPEC.md §24');
  });
  return { frac: read.integer('frac', 0, 64), points };
}

/** `λ_t = v_i + DIVR((v_{i+1} − v_i)·(t − t_i), t_{i+1} − t_i)` with the largest i that has `t_i ≤ t`. */
export function rateAt({ points }: Schedule, step: number): bigint {
  const i = points.findLastIndex(([from]) => from <= step);
  const [from, value] = points[i]!.map(BigInt) as [bigint, bigint];
  const end = points[i + 1];
  if (end === undefined) return value;
  return value + divRound((BigInt(end[1]) - value) * (BigInt(step) - from), BigInt(end[0]) - from);
}

export function largestRate({ points }: Schedule): bigint {
  return BigInt(Math.max(...points.map(([, value]) => value)));
}

/** Rule schedule, for each part. */
export function scheduleBounds({ points }: Schedule): readonly NetBound[] {
  return points.slice(1).map(([to, end], i) => {
    const [from, start] = points[i]!;
    const rise = BigInt(Math.abs(end - start));
    return bound('SCHEDULE', `optimizer.lr.points[${i}]`, (2n * rise + 1n) * BigInt(to - from), divisionLimit);
  });
}
