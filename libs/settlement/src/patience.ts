/** Repeats a call while the chain does not answer. The call changes nothing, or may safely arrive twice. */
import { retry } from '#libs/process';
import { isTransient } from './failure.js';

/** Waits 0.1, 0.2, 0.4 s between attempts. */
export function patiently<T>(call: () => Promise<T>): Promise<T> {
  return retry(call, { attempts: 4, firstPauseMs: 100, isWorthAgain: isTransient });
}
