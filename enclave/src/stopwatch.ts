/** Time by phase, in whole microseconds, for the breakdown that a job's summary shows. */
export type Phase = 'decrypt' | 'check' | 'train' | 'commit' | 'sign' | 'seal';

export interface Stopwatch {
  measure<T>(phase: Phase, work: () => Promise<T> | T): Promise<T>;
  /** Microseconds so far; 0 for a phase that never ran. */
  micros(phase: Phase): number;
}

export function createStopwatch(): Stopwatch {
  const spent = new Map<Phase, number>();
  return {
    async measure(phase, work) {
      const began = performance.now();
      try {
        return await work();
      } finally {
        spent.set(phase, (spent.get(phase) ?? 0) + performance.now() - began);
      }
    },
    micros: (phase) => Math.round((spent.get(phase) ?? 0) * 1000),
  };
}
