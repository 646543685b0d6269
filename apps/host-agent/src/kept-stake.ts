/** What an operator who ends a host is told of the account's stake: free stake serves the next job, or is taken out by hand. */
import { setTimeout as sleep } from 'node:timers/promises';
import { note } from '#libs/node';
import type { NodeWatch } from '#libs/telemetry';
import type { Provider } from './provider.js';

/** A chain that is away holds up no end. */
const withinMs = 2000;

export async function tellKeptStake(
  { keptStake }: Pick<Provider, 'keptStake'>,
  watch: Pick<NodeWatch, 'event'>,
  patienceMs = withinMs,
): Promise<void> {
  const tell = async (): Promise<void> => {
    // A log line has no member `token`: it would be redacted.
    for (const { token, free, locked } of await keptStake()) {
      watch.event('stake-kept', { coin: token, wei: String(free), lockedWei: String(locked) });
    }
  };
  await Promise.race([tell(), sleep(patienceMs, undefined, { ref: false })]).catch((error: unknown) =>
    note('stake', error),
  );
}
