/** How much memory a process and all that it starts have taken: Linux's VmHWM, read while they run. */
import { readdirSync, readFileSync } from 'node:fs';

interface MemoryWatch {
  /** Most bytes at any time: of the processes that ran then, each one's own high-water mark until then, added up. */
  peakBytes(): number;
  stop(): void;
}

const everyMs = 100;

export function watchTree(pid: number): MemoryWatch {
  let peak = 0;
  const treeOf = (one: number): readonly number[] => [one, ...childrenOf(one).flatMap(treeOf)];
  const look = (): void => {
    peak = Math.max(
      peak,
      treeOf(pid).reduce((sum, one) => sum + 1024 * statusOf(one, 'VmHWM'), 0),
    );
  };
  const timer = setInterval(look, everyMs);
  return { peakBytes: () => peak, stop: () => clearInterval(timer) };
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      (readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').match(/\d+/g) ?? []).map(Number),
    );
  } catch {
    return [];
  }
}

/** 0 where the process has ended. */
function statusOf(pid: number, member: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${member}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
