/** Warm-up and cosine as the points of a manifest's learning rate (libs/step/SPEC.md §24). */

interface Rate {
  readonly frac: number;
  readonly points: readonly (readonly [number, number])[];
}

const frac = 24;
const parts = 32;
const warmupMax = 100;

/** Steps of the rise: a tenth of the job, 100 at most. */
export function warmupOf(steps: number): number {
  return Math.min(warmupMax, Math.max(1, Math.floor(steps / 10)));
}

/** @param peak the largest rate, a real number */
export function cosineRate(peak: number, steps: number): Rate {
  const top = Math.max(1, Math.round(peak * 2 ** frac));
  const warmup = warmupOf(steps);
  const fall = Array.from({ length: parts }, (_, part): readonly [number, number] => {
    const share = (part + 1) / parts;
    return [Math.round(warmup + (steps - warmup) * share), Math.round((top * (1 + Math.cos(Math.PI * share))) / 2)];
  });
  return { frac, points: [[0, Math.round(top / (warmup + 1))], [warmup, top], ...fall] };
}
