import { setTimeout as delay } from 'node:timers/promises';

/** The outside world as the clients see it; tests replace all of it. */
export interface CollateralPorts {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly abortAfter: (milliseconds: number) => AbortSignal;
}

export const systemPorts: CollateralPorts = {
  fetch: (url, init) => fetch(url, init),
  now: () => Date.now(),
  sleep: (milliseconds) => delay(milliseconds),
  abortAfter: (milliseconds) => AbortSignal.timeout(milliseconds),
};
