/** Ranges that a graph watches, and what of its outputs lies beyond them (libs/step/SPEC.md §26). */

/** A range that a graph watches: the largest magnitude of each step leaves it as an output. */
export interface Watched {
  /** Output of the graph: max |x|, one float64 per step. */
  readonly output: string;
  /** Layer or parameter whose range it is. */
  readonly tensor: string;
  readonly high: number;
  readonly low: number;
  /** Of what flows forward, or of the errors that flow back. */
  readonly side: Side;
}

export type Side = 'values' | 'errors';

export interface Beyond {
  readonly range: string;
  readonly magnitude: string;
}

/** @param magnitude |x + 1/2| where the range has one value more below 0 than above @returns null within the range */
export function beyond({ low, high, side }: Watched, magnitude: number): Beyond | null {
  if (magnitude <= (low === -high ? high : high + 0.5)) return null;
  const range = `${low}..${high}${side === 'errors' ? ' for its errors' : ''}`;
  return { range, magnitude: `of magnitude ${Math.floor(magnitude)}` };
}
