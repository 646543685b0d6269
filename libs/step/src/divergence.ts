/**
 * What a run that leaves its range is told: how fast the tensor grew, and which learning rate to try (libs/step/SPEC.md §7).
 * Outside the semantics: no bit of a run depends on it.
 */
import { GuardViolation, short, type Growth } from './errors.js';
import { isNet, type JobManifest } from './job-manifest.js';
import { stepSize } from './manifest.js';
import { rateAt, type Schedule } from './net/optimizers/schedule.js';
import { sizeOf } from './tensors.js';

/** Steps that growth is taken over. */
export const growthSteps = 8;

/**
 * @param magnitudes of the same tensor after steps that follow each other, the last that of the step that left its range
 * @returns over the last `growthSteps` of them; null where there is no earlier one than 0 to compare with
 */
export function growthOf(magnitudes: readonly number[]): Growth | null {
  const last = magnitudes.slice(-growthSteps - 1);
  const first = last.findIndex((magnitude) => magnitude > 0);
  const steps = last.length - 1 - first;
  return first < 0 || steps === 0 ? null : { factor: last.at(-1)! / last[first]!, steps };
}

/** To the next power of two: what may be told of a growth where figures of single steps may not. */
export function coarseGrowth(growth: Growth | null): Growth | null {
  return growth && { ...growth, factor: 2 ** Math.ceil(Math.log2(Math.max(1, growth.factor))) };
}

/** The same violation with its growth, and with what to set instead. */
export function explained({ step, tensor, range, magnitude }: GuardViolation, m: JobManifest, growth: Growth | null) {
  const action = `${lowerRate(m, step, growth)}; or give ${roomFor(m, tensor)}`;
  return new GuardViolation(step, tensor, range, magnitude, { growth, action });
}

/**
 * Near a minimum a step of rate η multiplies the error along a direction of curvature L by 1 − η·L. Where it grows by ρ a
 * step, η·L = 1 + ρ, and η/(1 + ρ) = 1/L is the rate that reaches the minimum in one step.
 */
export function lowerRate(m: JobManifest, step: number, growth: Growth | null): string {
  const by = 1 + Math.max(1, growth === null ? 1 : growth.factor ** (1 / growth.steps));
  const lower = `lower the learning rate to 1/${short(by)} of it:`;
  if (!isNet(m)) return `${lower} ${exactAdvice(stepSize(m, step), m.e, by, step)}`;
  const { lr, m: sizes, e } = m.optimizer as { lr?: Schedule; m?: readonly (readonly number[])[]; e?: number };
  if (lr === undefined) {
    const size = sizes!.findLast(([from]) => from! <= step)![1]!;
    const peak = Math.max(...sizes!.map(([, own]) => own!));
    const mean = ((peak / by) * m.batch * sizeOf(m.labelShape)) / 2 ** e!;
    return `${lower} ${exactAdvice(size, [e!], by, step)} (--lr ${short(mean)} of model init)`;
  }
  const real = (rate: number): string => `${rate}·2^-${lr.frac} = ${Number((rate * 2 ** -lr.frac).toPrecision(3))}`;
  const rate = Number(rateAt(lr, step));
  const next = Math.max(1, Math.floor(rate / by));
  return `${lower} optimizer.lr at step ${step} from ${real(rate)} to ${real(next)}, its other points (or --lr of model init) alike`;
}

/** The rate is `m·2^-e`, with m of 1 to 255. */
function exactAdvice(m: number, e: readonly number[], by: number, step: number): string {
  const next = Math.floor(m / by);
  if (next >= 1) return `m of optimizer.m at step ${step} from ${m} to ${next}`;
  const bits = Math.ceil(Math.log2(by));
  return `e from ${e.join(', ')} to ${e.map((own) => own + bits).join(', ')}`;
}

function roomFor(m: JobManifest, tensor: string): string {
  const isParameter = isNet(m) ? /\.[Wb]$/.test(tensor) : /^[Wb]/.test(tensor);
  if (isParameter) return 'weights more room (wint)';
  return isNet(m) ? 'the edge fewer bits of fraction (a, g), or let it saturate (overflow)' : 'a wider profile';
}
