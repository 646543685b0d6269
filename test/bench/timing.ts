/** Wall and CPU time of a piece of work, and what several runs of it come to. */
import type { BenchResult } from './result.js';

interface Start {
  readonly at: number;
  readonly cpu: NodeJS.CpuUsage;
}

export function start(): Start {
  return { at: performance.now(), cpu: process.cpuUsage() };
}

/** Seconds of wall time, and of CPU time of all threads. */
export function since({ at, cpu }: Start): { wall: number; cpu: number } {
  const { user, system } = process.cpuUsage(cpu);
  return { wall: (performance.now() - at) / 1000, cpu: (user + system) / 1e6 };
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

export function summary(name: string, unit: string, values: readonly number[]): BenchResult {
  const sorted = [...values].sort((a, b) => a - b);
  return { name, unit, n: sorted.length, min: sorted[0]!, median: median(values), max: sorted.at(-1)! };
}
