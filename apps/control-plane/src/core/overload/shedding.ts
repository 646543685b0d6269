/**
 * What is not taken while the process is behind, the least important first: background reads, then new jobs of low
 * priority, then every new job. Nodes, health, cancellation and settlement are always served.
 */
import {
  Inject,
  Injectable,
  SetMetadata,
  type CanActivate,
  type ExecutionContext,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import type { GraphQLResolveInfo } from 'graphql';
import { DataSource } from 'typeorm';
import type { Logger, Metrics } from '#libs/telemetry';
import type { Config } from '../config/config.js';
import { CONFIG, LOGGER, METRICS } from '../config/tokens.js';
import { refusal } from '../problem/codes.js';
import { statementsWaitingMax } from './limits.js';
import { Pressure, shedLevels, type ShedLevel } from './pressure.js';

const sampleMilliseconds = 100;
const lowPriorityFrom = 6;

type Standing = 'essential' | 'submission';
const STANDING = 'veritrain:standing';
/** Never shed, though it reads. */
export const Essential = () => SetMetadata(STANDING, 'essential' satisfies Standing);
/** Shed by the priority that the body names. */
export const NewJobs = () => SetMetadata(STANDING, 'submission' satisfies Standing);

@Injectable()
export class Shedding implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #pressure: Pressure | null;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly database: DataSource,
    @Inject(CONFIG) config: Config,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const { shedDelayMilliseconds: delayMilliseconds } = config;
    this.#pressure =
      delayMilliseconds === null ? null : new Pressure({ delayMilliseconds, waiting: statementsWaitingMax });
  }

  get level(): ShedLevel {
    return this.#pressure?.level ?? 0;
  }

  onApplicationBootstrap(): void {
    const pressure = this.#pressure;
    if (pressure === null) return;
    let due = performance.now() + sampleMilliseconds;
    this.#timer = setInterval(() => {
      const now = performance.now();
      const before = pressure.level;
      const level = pressure.sample(Math.max(0, now - due), this.waiting());
      due = now + sampleMilliseconds;
      if (level === before) return;
      this.metrics.shedLevel.set(level);
      this.logger.warn(level === 0 ? 'everything is taken again' : 'requests are shed', {
        shedding: shedLevels[level],
      });
    }, sampleMilliseconds).unref();
  }

  onApplicationShutdown(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  private waiting(): number {
    const { master } = this.database.driver as unknown as { master?: { waitingCount?: number } };
    return master?.waitingCount ?? 0;
  }
}

@Injectable()
export class ShedGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly shedding: Shedding,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { level } = this.shedding;
    if (level === 0 || level < this.shedFrom(context)) return true;
    this.metrics.refused.inc({ reason: 'overload' });
    if (context.getType() === 'http') {
      context
        .switchToHttp()
        .getResponse<Response>()
        .setHeader('retry-after', String(2 * level));
    }
    throw refusal('OVERLOADED', {
      expected: 'a control plane that keeps up',
      got: `one that sheds ${shedLevels[level]}`,
      rule: 'apps/control-plane/README.md, overload',
      action: 'Retry after the time in Retry-After, and less often.',
    });
  }

  /** The level from which on this request is shed. */
  private shedFrom(context: ExecutionContext): number {
    const targets = [context.getHandler(), context.getClass()];
    const standing = this.reflector.getAllAndOverride<Standing | undefined>(STANDING, targets);
    if (standing === 'essential') return Infinity;
    switch (context.getType<'http' | 'rpc' | 'graphql'>()) {
      case 'rpc':
        return Infinity;
      case 'graphql': {
        const { operation } = context.getArgByIndex<GraphQLResolveInfo>(3).operation;
        return operation === 'mutation' ? Infinity : 1;
      }
      case 'http': {
        const { method, body } = context.switchToHttp().getRequest<Request>();
        if (standing === 'submission') return isLow(body) ? 2 : 3;
        return method === 'GET' ? 1 : Infinity;
      }
    }
  }
}

function isLow(body: unknown): boolean {
  const priority = (body as { priority?: unknown } | undefined)?.priority;
  return typeof priority === 'number' && priority >= lowPriorityFrom;
}
