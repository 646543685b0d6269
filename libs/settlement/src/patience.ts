/** Repeats what changes nothing, or may safely arrive twice, while the chain does not answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTransient } from './failure.js';

/** Waits 0.1, 0.2, 0.4 s between attempts. */
export async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let wait = 100; ; wait *= 2) {
    try {
      return await call();
    } catch (error) {
      if (!isTransient(error) || wait > 400) throw error;
      await sleep(wait);
    }
  }
}
