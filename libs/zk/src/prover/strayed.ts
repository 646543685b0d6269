/**
 * Products of weights that have left their range inside a segment (libs/step/SPEC.md §10): in two limbs, high·2^20 +
 * low, of which float64 carries every partial sum while the product itself is below 2^62, and N1 keeps it there.
 */
import type { DoubleRows } from '../commit/backend.js';
import type { Backend, WeightGrid } from './backend.js';

/** Marks the column of high limbs that goes with a column of low ones. */
export const highLimbs = '.high';
const limb = 2 ** 20;

export function largest(values: Float64Array): number {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}

/** The sums of one unit after the other, `batch` each: sum = high·2^20 + low, 0 ≤ low < 2^20. */
interface LimbSums {
  readonly high: Float64Array;
  readonly low: Float64Array;
}

/** @param start added to every sum of a unit; an exact integer below 2^53, times a power of two */
export function sumInLimbs(
  backend: Backend,
  grid: WeightGrid,
  x: DoubleRows,
  batch: number,
  start: (unit: number) => number,
): LimbSums {
  const highOf = (value: number): number => Math.floor(value / limb);
  const rows = (): DoubleRows => ({ data: backend.doubles(grid.units * batch), start: 0, stride: batch });
  const [high, low] = [rows(), rows()];
  const high0 = grid.data.map(highOf);
  const low0 = grid.data.map((value, i) => value - limb * high0[i]!);
  for (let unit = 0; unit < grid.units; unit++) {
    const first = start(unit);
    high.data.fill(highOf(first), unit * batch, (unit + 1) * batch);
    low.data.fill(first - limb * highOf(first), unit * batch, (unit + 1) * batch);
  }
  backend.sumProducts({ ...grid, data: high0 }, x, batch, high);
  backend.sumProducts({ ...grid, data: low0 }, x, batch, low);
  for (let i = 0; i < low.data.length; i++) {
    const carry = highOf(low.data[i]!);
    high.data[i]! += carry;
    low.data[i]! -= limb * carry;
  }
  return { high: high.data, low: low.data };
}

/** The sum as one double: exact where it is below 2^53, and far out of every range where it is not. */
export function joined({ high, low }: LimbSums, i: number): number {
  return high[i]! * limb + low[i]!;
}
