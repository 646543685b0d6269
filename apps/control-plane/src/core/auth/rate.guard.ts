/** Requests per minute to one route: by address before anybody is authenticated, then by the key that was accepted. */
import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Metrics } from '#libs/telemetry';
import type { Config } from '../config/config.js';
import { CONFIG, METRICS } from '../config/tokens.js';
import { refusal } from '../problem/codes.js';
import { Clock } from '../timing/clock.js';
import { addressOf } from './address.js';
import { carrierOf } from './principal.js';
import { RateLimit } from './rate-limit.js';

/** Dispatch has its own bounds: one connection, long polls. */
abstract class RateGuard implements CanActivate {
  readonly #limits = new WeakMap<object, RateLimit>();

  constructor(
    private readonly clock: Clock,
    private readonly limit: number,
    private readonly name: 'address' | 'key',
    private readonly metrics: Metrics,
  ) {}

  protected abstract subjectOf(context: ExecutionContext): string | undefined;

  canActivate(context: ExecutionContext): boolean {
    if (context.getType() === 'rpc') return true;
    const subject = this.subjectOf(context);
    if (subject === undefined) return true;
    const wait = this.of(context.getHandler()).take(subject, this.limit, this.clock.monotonic());
    if (wait === 0) return true;
    this.metrics.refused.inc({ reason: `rate of ${this.name}` });
    requestOf(context).res?.setHeader('retry-after', String(wait));
    throw rateLimited(this.name, this.limit, wait);
  }

  private of(handler: object): RateLimit {
    let limit = this.#limits.get(handler);
    if (limit === undefined) this.#limits.set(handler, (limit = new RateLimit()));
    return limit;
  }
}

/** @param wait  seconds */
export function rateLimited(name: 'address' | 'key', limit: number, wait: number) {
  return refusal('RATE_LIMITED', {
    expected: `at most ${limit} requests a minute to this route from one ${name}`,
    got: 'one more',
    rule: 'apps/control-plane/README.md, limits',
    action: `Wait ${wait} seconds, as Retry-After says.`,
  });
}

type HttpRequest = IncomingMessage & { res?: Response };

/** A GraphQL operation over WebSocket has an address but no response to set headers on. */
function requestOf(context: ExecutionContext): HttpRequest {
  return context.getType<'http' | 'graphql'>() === 'http'
    ? context.switchToHttp().getRequest<HttpRequest>()
    : context.getArgByIndex<{ req: HttpRequest }>(2).req;
}

@Injectable()
export class AddressRateGuard extends RateGuard {
  constructor(clock: Clock, @Inject(CONFIG) config: Config, @Inject(METRICS) metrics: Metrics) {
    super(clock, config.addressRequestsPerMinute, 'address', metrics);
  }

  protected subjectOf(context: ExecutionContext): string {
    return addressOf(requestOf(context));
  }
}

@Injectable()
export class KeyRateGuard extends RateGuard {
  constructor(clock: Clock, @Inject(CONFIG) config: Config, @Inject(METRICS) metrics: Metrics) {
    super(clock, config.requestsPerMinute, 'key', metrics);
  }

  protected subjectOf(context: ExecutionContext): string | undefined {
    return carrierOf(context).principal?.keyId;
  }
}
