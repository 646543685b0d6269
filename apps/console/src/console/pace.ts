/** How fast a job goes and what a segment is, out of what was heard of it: nobody says either. */
import type { Story } from './live.js';
import type { Escrow } from './types.js';

interface Heard {
  readonly step: number;
  readonly at: string;
}

/**
 * @returns seconds from the newest report to the last step, at the pace of the second half of what this attempt reported;
 *   null where there is too little to tell
 */
export function secondsLeft({ progress, moments }: Pick<Story, 'progress' | 'moments'>, steps: number): number | null {
  const began = moments.findLast(({ type, data }) => type === 'state' && data['to'] === 'running');
  if (began === undefined) return null;
  const checkpoints = moments
    .filter(({ type }) => type === 'checkpoint')
    .map(({ at, data }): Heard => ({ step: Number(data['step']), at }));
  const [heard] = [since(progress, began.at), since(checkpoints, began.at)].toSorted((a, b) => b.length - a.length);
  const [middle, last] = [heard![Math.floor((heard!.length - 1) / 2)], heard!.at(-1)];
  if (middle === undefined || last === undefined || last.step <= middle.step) return null;
  const took = (Date.parse(last.at) - Date.parse(middle.at)) / 1000;
  const left = (took * Math.max(0, steps - last.step)) / (last.step - middle.step);
  return took > 0 && Number.isFinite(left) ? left : null;
}

/** Of a list in the order of its times, all written alike. */
const since = (heard: readonly Heard[], at: string): readonly Heard[] =>
  heard.slice(heard.findLastIndex((one) => one.at < at) + 1);

/** @returns steps of each segment but the last, or null: the first checkpoint tells, for one is kept after each */
export function segmentSteps(steps: number, segments: number, checkpoints: readonly number[]): number | null {
  if (segments === 1) return steps;
  const [first] = checkpoints;
  return first !== undefined && Math.ceil(steps / first) === segments ? first : null;
}

/**
 * @param escrow undefined: not known yet
 * @returns steps that a delivered job trained: all, unless its committed run has fewer segments; null where nobody told how
 *   long those are
 */
export function trainedSteps(
  steps: number,
  checkpoints: readonly number[],
  escrow: Pick<Escrow, 'segments' | 'upTo'> | undefined,
): number | null {
  const { segments = 1, upTo = 0 } = escrow ?? {};
  if (upTo === 0 || upTo >= segments) return steps;
  const whole = steps % segments === 0 ? steps / segments : null;
  const each = segmentSteps(steps, segments, checkpoints) ?? whole;
  return each === null ? null : upTo * each;
}
