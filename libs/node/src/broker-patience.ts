/**
 * How long one goes on asking a key broker that is away, busy, or answers to a nonce that is spent: with growing pauses, as
 * long as the answer is wanted. What the broker refuses for good is thrown at once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { CollateralError } from '#attestation/base';

export interface Clock {
  /** Milliseconds that only grow. */
  now(): number;
  sleep(milliseconds: number): Promise<unknown>;
}

interface PatienceOptions {
  readonly withinMs: number;
  /** Whether somebody still waits for the answer; looked at every second of a pause. */
  readonly goesOn?: () => boolean;
  /** Told before a pause. */
  readonly onPause?: (error: CollateralError, milliseconds: number) => void;
  readonly clock?: Clock;
}

export interface BrokerPatience {
  /** @throws what `ask` throws, once it is no use to ask again or the time is over */
  keep<T>(ask: () => Promise<T>, isWorthAgain: (error: CollateralError) => boolean): Promise<T>;
}

/** A broker that cannot decide now, and may say for how long. */
export class BrokerBusy extends CollateralError {
  retryAfterMs = 0;
}

const firstPauseMs = 200;
const pauseMsMax = 15_000;
const sliceMs = 1000;
const systemClock: Clock = { now: () => performance.now(), sleep: (milliseconds) => delay(milliseconds) };

/** The time counts from now, over everything that is asked with this patience. */
export function brokerPatience(options: PatienceOptions): BrokerPatience {
  const { withinMs, goesOn = () => true, onPause = () => undefined, clock = systemClock } = options;
  const deadline = clock.now() + withinMs;
  const pause = async (milliseconds: number): Promise<void> => {
    const end = clock.now() + milliseconds;
    for (let left = milliseconds; left > 0 && goesOn(); left = end - clock.now()) {
      await clock.sleep(Math.min(left, sliceMs));
    }
  };
  return {
    async keep(ask, isWorthAgain) {
      for (let attempt = 0; ; attempt++) {
        try {
          return await ask();
        } catch (error) {
          if (!(error instanceof CollateralError) || !isWorthAgain(error) || !goesOn()) throw error;
          const asked = error instanceof BrokerBusy ? error.retryAfterMs : 0;
          const milliseconds = Math.max(asked, Math.min(firstPauseMs * 2 ** attempt, pauseMsMax));
          if (clock.now() + milliseconds > deadline) throw error;
          onPause(error, milliseconds);
          await pause(milliseconds);
          if (!goesOn()) throw error;
        }
      }
    },
  };
}

/** Another nonce, or the same request later, may be answered. */
export const isOfBroker = ({ code }: CollateralError): boolean => /^(NONCES?|BROKER)_/.test(code);
/** The same request may be answered later; one with a nonce that is spent never is. */
export const isAway = (error: CollateralError): boolean => isOfBroker(error) && !error.code.startsWith('NONCE_');

/** Seconds or an HTTP date (RFC 9110 §10.2.3), at most a day; 0 where there is none. @param now  Unix milliseconds */
export function retryAfterMs(value: string | null, now: number): number {
  if (value === null) return 0;
  const milliseconds = /^\d{1,9}$/.test(value.trim()) ? 1000 * Number(value) : Date.parse(value) - now;
  return Number.isNaN(milliseconds) ? 0 : Math.min(Math.max(0, milliseconds), 86_400_000);
}
