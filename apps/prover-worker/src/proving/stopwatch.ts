import { rounded } from './report.js';

/** Wall seconds by phase: entering a phase ends the one before. */
interface Stopwatch {
  enter(phase: string): void;
  end(): void;
  seconds(): Readonly<Record<string, number>>;
}

export function createStopwatch(): Stopwatch {
  const totals = new Map<string, number>();
  let current: { phase: string; at: number } | undefined;
  const end = (): void => {
    if (current === undefined) return;
    totals.set(current.phase, (totals.get(current.phase) ?? 0) + performance.now() - current.at);
    current = undefined;
  };
  return {
    enter(phase) {
      end();
      current = { phase, at: performance.now() };
    },
    end,
    seconds: () => Object.fromEntries([...totals].map(([phase, ms]) => [phase, rounded(ms / 1000)])),
  };
}
