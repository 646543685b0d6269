/** Time limits, looking until there is something, and attempts with growing pauses. */
import { setTimeout as sleep } from 'node:timers/promises';

/** What the promise resolves with; undefined when the time is over first. */
export async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> {
  const early = new AbortController();
  try {
    return await Promise.race([promise, sleep(milliseconds, undefined, early).catch(() => undefined)]);
  } finally {
    early.abort();
  }
}

interface PollOptions {
  readonly everyMs: number;
  readonly withinMs: number;
  /** Whether it is still of use; asked before each look. Absent: always. */
  readonly goesOn?: () => boolean;
}

/** The first thing that a look finds; null when the time is over, or it is no more use. */
export async function poll<T>(
  look: () => Promise<T | null>,
  { everyMs, withinMs, goesOn = () => true }: PollOptions,
): Promise<T | null> {
  const deadline = performance.now() + withinMs;
  while (goesOn() && performance.now() < deadline) {
    const found = await look();
    if (found !== null) return found;
    await sleep(everyMs);
  }
  return null;
}

interface RetryOptions {
  readonly attempts: number;
  /** Doubled after each attempt. */
  readonly firstPauseMs: number;
  /** Whether another attempt may help; absent: whatever the failure. */
  readonly isWorthAgain?: (error: unknown) => boolean;
  /** Told before a pause, for example to turn to another server. */
  readonly beforePause?: () => void;
  readonly signal?: AbortSignal | null | undefined;
}

/** @throws the last failure, once the attempts are spent, another is no use, or the signal is aborted */
export async function retry<T>(ask: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts, firstPauseMs, isWorthAgain = () => true, beforePause, signal } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (attempt >= attempts || signal?.aborted === true || !isWorthAgain(error)) throw error;
      beforePause?.();
      await sleep(firstPauseMs * 2 ** (attempt - 1), undefined, signal ? { signal } : {}).catch(() => {
        throw error;
      });
    }
  }
}
