/** The clock of this process that only goes on, turned on by a test as it turns on that of a chain. */
import { vi } from 'vitest';

type Wait = (seconds: number) => void;

/** `vi.restoreAllMocks` puts it back. */
export function turnSteadyTime(): Wait {
  const now = performance.now.bind(performance);
  let turnedMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + turnedMs);
  return (seconds) => void (turnedMs += 1000 * seconds);
}

/** Looks at a chain as often, and for as long, as its time takes to be believed. */
export async function lookUntilBelieved(look: () => Promise<unknown>, wait: Wait): Promise<void> {
  for (let count = 0; count < 6; count++) {
    await look();
    wait(1);
  }
}
