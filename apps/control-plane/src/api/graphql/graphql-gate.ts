/**
 * Before GraphQL: address, key and rates are looked at first, then a small body is read. Resolvers have guards of their own.
 * Over WebSocket a message is counted before it is read, and its key looked at before it is parsed as GraphQL.
 */
import type { IncomingMessage } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import type { Metrics } from '#libs/telemetry';
import type { Problem } from '#libs/wire';
import { addressOf } from '../../core/auth/address.js';
import { ApiKeys } from '../../core/auth/api-keys.js';
import { bearerOf } from '../../core/auth/auth.guard.js';
import { Denials, type Denied } from '../../core/auth/denials.js';
import type { Principal } from '../../core/auth/principal.js';
import { RateLimit } from '../../core/auth/rate-limit.js';
import { rateLimited } from '../../core/auth/rate.guard.js';
import type { Config } from '../../core/config/config.js';
import { CONFIG, METRICS } from '../../core/config/tokens.js';
import { clientAddress } from '../../core/config/trust-proxy.js';
import { Bodies, type BodyRequest } from '../../core/overload/body.js';
import { smallBodyBytesMax } from '../../core/overload/limits.js';
import { explain } from '../../core/problem/explain.js';
import { headersOf, problemOf } from '../../core/problem/problem.js';
import { Clock } from '../../core/timing/clock.js';

/** What a client says when it connects over WebSocket. */
type ConnectionParams = Readonly<Record<string, unknown>> | undefined;
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

  /** False for a message over WebSocket that is one too many of its address. */
  hears(upgrade: IncomingMessage): boolean {
    const { addressRequestsPerMinute, trustProxy } = this.config;
    return this.waitFor(this.#byAddress, 'address', clientAddress(upgrade, trustProxy), addressRequestsPerMinute) === 0;
  }

  /** A message over WebSocket that is too long or none at all. */
  heardWrong(): void {
    this.metrics.refused.inc({ reason: 'broken request' });
  }

  /** What speaks against an operation over WebSocket whoever asks for what; null: its key is good. */
  async refusalOf(connectionParams: ConnectionParams, upgrade: IncomingMessage): Promise<Problem | null> {
    try {
      await this.keys.authenticate(bearerOf(connectionParams ?? {}));
      return null;
    } catch (thrown) {
      return this.problemOf(thrown, { address: clientAddress(upgrade, this.config.trustProxy) }, 'urn:none');
    }
  }

  private async admit(request: GateRequest, response: Response): Promise<void> {
    const { addressRequestsPerMinute, requestsPerMinute } = this.config;
    this.take(this.#byAddress, 'address', addressOf(request), addressRequestsPerMinute, response);
    request.principal = await this.keys.authenticate(bearerOf(request.headers));
    this.take(this.#byKey, 'key', request.principal.keyId, requestsPerMinute, response);
    if (request.method === 'POST') await this.bodies.take(request, smallBodyBytesMax);
  }

  private take(rate: RateLimit, name: 'address' | 'key', subject: string, limit: number, response: Response): void {
    const wait = this.waitFor(rate, name, subject, limit);
    if (wait === 0) return;
    response.setHeader('retry-after', String(wait));
    throw rateLimited(name, limit, wait);
  }

  /** @returns seconds; 0: it is counted, and within the limit */
  private waitFor(rate: RateLimit, name: 'address' | 'key', subject: string, limit: number): number {
    const wait = rate.take(subject, limit, this.clock.monotonic());
    if (wait > 0) this.metrics.refused.inc({ reason: `rate of ${name}` });
    return wait;
  }

  private problemOf(thrown: unknown, by: Pick<Denied, 'address' | 'principal'>, instance: string): Problem {
    const error = explain(thrown);
    this.denials.note(error.code, { place: 'graphql', ...by });
    return problemOf(error, instance, 'schema.graphql');
  }

  private refuse(thrown: unknown, request: GateRequest, response: Response): void {
    const by = { address: addressOf(request), principal: request.principal };
    const problem = this.problemOf(thrown, by, `urn:uuid:${request.id ?? ''}`);
    for (const [name, value] of headersOf(problem)) response.setHeader(name, value);
    const errors = [{ message: problem.detail, extensions: { ...problem } }];
    response.status(problem.status).type('application/json').send(JSON.stringify({ errors }));
  }
}
