/** Before GraphQL over HTTP: address, key and rates are looked at first, then a small body is read. Resolvers have guards of their own. */
import { Inject, Injectable } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import type { Metrics } from '#libs/telemetry';
import { addressOf } from './auth/address.js';
import { ApiKeys } from './auth/api-keys.js';
import { bearerOf } from './auth/auth.guard.js';
import { Denials } from './auth/denials.js';
import type { Principal } from './auth/principal.js';
import { RateLimit } from './auth/rate-limit.js';
import { rateLimited } from './auth/rate.guard.js';
import { Bodies, type BodyRequest } from './body.js';
import { Clock } from './clock.js';
import type { Config } from './config.js';
import { smallBodyBytesMax } from './overload/limits.js';
import { explain } from './problem/explain.js';
import { headersOf, problemOf } from './problem/problem.js';
import { CONFIG, METRICS } from './tokens.js';

type GateRequest = BodyRequest & { id?: string; principal?: Principal };

@Injectable()
export class GraphqlGate {
  readonly #byAddress = new RateLimit();
  readonly #byKey = new RateLimit();

  constructor(
    private readonly keys: ApiKeys,
    private readonly bodies: Bodies,
    private readonly denials: Denials,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  readonly handler = (request: Request, response: Response, next: NextFunction): void => {
    this.admit(request, response).then(
      () => next(),
      (thrown: unknown) => this.refuse(thrown, request, response),
    );
  };

  private async admit(request: GateRequest, response: Response): Promise<void> {
    const { addressRequestsPerMinute, requestsPerMinute } = this.config;
    this.take(this.#byAddress, 'address', addressOf(request), addressRequestsPerMinute, response);
    request.principal = await this.keys.authenticate(bearerOf(request.headers));
    this.take(this.#byKey, 'key', request.principal.keyId, requestsPerMinute, response);
    if (request.method === 'POST') await this.bodies.take(request, smallBodyBytesMax);
  }

  private take(rate: RateLimit, name: 'address' | 'key', subject: string, limit: number, response: Response): void {
    const wait = rate.take(subject, limit, this.clock.monotonic());
    if (wait === 0) return;
    this.metrics.refused.inc({ reason: `rate of ${name}` });
    response.setHeader('retry-after', String(wait));
    throw rateLimited(name, limit, wait);
  }

  private refuse(thrown: unknown, request: GateRequest, response: Response): void {
    const error = explain(thrown);
    this.denials.note(error.code, { place: 'graphql', address: addressOf(request), principal: request.principal });
    const problem = problemOf(error, `urn:uuid:${request.id ?? ''}`, 'schema.graphql');
    for (const [name, value] of headersOf(problem)) response.setHeader(name, value);
    const errors = [{ message: problem.detail, extensions: { ...problem } }];
    response.status(problem.status).type('application/json').send(JSON.stringify({ errors }));
  }
}
