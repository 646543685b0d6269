/** Attempts to sign in, of one address and with one key id. */
import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { RateLimit } from '../../core/auth/rate-limit.js';
import { rateLimited } from '../../core/auth/rate.guard.js';
import { Clock } from '../../core/timing/clock.js';

const perMinute = 30;

@Injectable()
export class Attempts {
  readonly #rate = new RateLimit();

  constructor(private readonly clock: Clock) {}

  /** @throws Rejection RATE_LIMITED */
  take(name: 'address' | 'key', subject: string, response: Response): void {
    const wait = this.#rate.take(`${name} ${subject}`, perMinute, this.clock.monotonic());
    if (wait === 0) return;
    response.setHeader('retry-after', String(wait));
    throw rateLimited(name, perMinute, wait);
  }
}
