/** Guests of one machine, one after another: each ends with its session, and the next one is started. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '#attestation/base';
import type { GuestMachine } from './qemu-command.js';
import { startGuest } from './qemu-process.js';

interface KeptGuests {
  /** Process of the latest. */
  pid(): number;
  /** Once the signal has come and the last one has ended. */
  readonly done: Promise<void>;
}

const againAfterMs = 1000;

/**
 * Starts a guest, and another after each that ends, until the signal comes.
 * @param onLine  told of every end, and why one that follows did not start; it is tried again
 * @throws ConfigurationError as startGuest, where the first does not start
 */
export async function keepGuests(
  machine: GuestMachine,
  onLine: (line: string) => void,
  stop: AbortSignal,
): Promise<KeptGuests> {
  let guest = await startGuest(machine);
  const stopped = whenAborted(stop);
  const another = async (): Promise<typeof guest | null> => {
    for (;;) {
      await sleep(againAfterMs, undefined, { signal: stop }).catch(() => undefined);
      if (stop.aborted) return null;
      try {
        return await startGuest(machine);
      } catch (error) {
        if (!(error instanceof CodedError)) throw error;
        onLine(error.message);
      }
    }
  };
  const keep = async (): Promise<void> => {
    for (;;) {
      const end = await Promise.race([guest.exited, stopped]);
      if (end === null) return guest.stop();
      onLine(`guest ended with ${end.status ?? 'a signal'}`);
      const next = await another();
      if (next === null) return;
      guest = next;
    }
  };
  return { pid: () => guest.pid, done: keep() };
}

/** Null, at once where the signal has come before. */
export function whenAborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener('abort', () => resolve(null), { once: true });
  });
}
