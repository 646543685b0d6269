/**
 * Every POST carries an idempotency key: the same key with the same body gets the same answer, with another body it is
 * refused. Answers that say "not now" (401, 403, 429, 5xx) are not kept, so a retry can succeed.
 */
import { createHash } from 'node:crypto';
import { Injectable, SetMetadata, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { DataSource, LessThan } from 'typeorm';
import { CollateralError, ConfigurationError, Rejection, type CodedError } from '#attestation/base';
import { Idempotency } from '#libs/persistence';
import { carrierOf, type Principal } from '../auth/principal.js';
import { refusal, statusOf } from '../problem/codes.js';
import { explain } from '../problem/explain.js';
import { Clock } from '../timing/clock.js';
import { inProgress, KEEPS_REPLY, type PendingReply, type ReplyCarrier } from './pending-reply.js';

const rule = 'apps/control-plane/README.md, idempotency';
const keyShape = /^[\x21-\x7e]{1,128}$/;
/** After this a request that never answered is taken as lost with its process. */
const abandonedMilliseconds = 60_000;
const keptMilliseconds = 24 * 3600 * 1000;

const SHOWN_ONCE = 'veritrain:shown-once';
/** A member of the answer that is not kept: a replay comes without it. */
export const ShownOnce = (member: string) => SetMetadata(SHOWN_ONCE, member);

type BodyRequest = Request & ReplyCarrier & { rawBody?: Buffer };

@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    private readonly database: DataSource,
    private readonly clock: Clock,
    private readonly reflector: Reflector,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle();
    const request = context.switchToHttp().getRequest<BodyRequest>();
    // What anybody may call is nobody's to repeat.
    if (request.method !== 'POST' || carrierOf(context).principal === undefined) return next.handle();
    return from(this.run(request, context, next));
  }

  /** Forgets answers older than a day. */
  async forgetOld(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - keptMilliseconds);
    await this.database.manager.delete(Idempotency, { createdAt: LessThan(before) });
  }

  private async run(request: BodyRequest, context: ExecutionContext, next: CallHandler): Promise<unknown> {
    const response = context.switchToHttp().getResponse<Response>();
    const entry = this.entryOf(request, carrierOf(context).principal!);
    const status = this.reflector.get<number | undefined>(KEEPS_REPLY, context.getHandler());
    if (status !== undefined) return this.runKeeping({ entry, status, isKept: false }, request, response, next);
    const earlier = await this.claim(entry);
    if (earlier !== null) return replay(earlier, response);
    try {
      const answer: unknown = await lastValueFrom(next.handle());
      const kept = without(answer, this.reflector.get<string | undefined>(SHOWN_ONCE, context.getHandler()));
      await this.keep(entry, response.statusCode, kept);
      return answer;
    } catch (thrown) {
      await this.keepFailure(entry, thrown);
      throw thrown;
    }
  }

  /** The handler claims the key with its change. Whatever it did not store is settled here afterwards. */
  private async runKeeping(
    reply: PendingReply,
    request: BodyRequest,
    response: Response,
    next: CallHandler,
  ): Promise<unknown> {
    const { entry } = reply;
    request.pendingReply = reply;
    try {
      const answer: unknown = await lastValueFrom(next.handle());
      if (reply.isKept) return answer;
      const earlier = await this.claim(entry);
      if (earlier !== null) return replay(earlier, response);
      await this.keep(entry, reply.status, answer);
      return answer;
    } catch (thrown) {
      if (!isFinal(thrown)) throw thrown;
      const earlier = await this.claim(entry);
      if (earlier !== null) return replay(earlier, response);
      await this.keepFailure(entry, thrown);
      throw thrown;
    }
  }

  private async keep({ tenant, key }: Idempotency, status: number, answer: unknown): Promise<void> {
    await this.database.manager.update(Idempotency, { tenant, key }, { status, answer: answer as object });
  }

  private async keepFailure(entry: Idempotency, thrown: unknown): Promise<void> {
    const { tenant, key } = entry;
    if (isFinal(thrown)) await this.keep(entry, statusOf(explain(thrown)), keptError(explain(thrown)));
    else await this.database.manager.delete(Idempotency, { tenant, key }).catch(() => undefined);
  }

  private entryOf(request: BodyRequest, principal: Principal): Idempotency {
    const key = request.header('idempotency-key') ?? '';
    if (!keyShape.test(key)) {
      throw refusal('IDEMPOTENCY_KEY_MISSING', {
        expected: 'the header idempotency-key of 1 to 128 visible characters',
        got: key === '' ? 'none' : 'another text',
        rule,
        action: 'Send a new random key for every new request, and the same one when you retry.',
      });
    }
    return Object.assign(new Idempotency(), {
      tenant: principal.tenant,
      key,
      request: `${request.method} ${request.path}`,
      bodyHash: createHash('sha256')
        .update(request.rawBody ?? '')
        .digest(),
      status: null,
      answer: null,
      createdAt: this.clock.now(),
    });
  }

  /** Takes the key, or returns what was answered under it. @throws Rejection IDEMPOTENCY_MISMATCH, IDEMPOTENCY_IN_PROGRESS */
  private claim(entry: Idempotency): Promise<Idempotency | null> {
    return this.database.transaction(async (manager) => {
      const insert = manager
        .createQueryBuilder()
        .insert()
        .into(Idempotency)
        .values(entry as object);
      const taken = (await insert.orIgnore().returning('key').execute()).raw as unknown[];
      if (taken.length > 0) return null;
      const { tenant, key } = entry;
      const earlier = await manager.findOneOrFail(Idempotency, {
        where: { tenant, key },
        lock: { mode: 'pessimistic_write' },
      });
      if (earlier.request !== entry.request || !earlier.bodyHash.equals(entry.bodyHash)) throw mismatch(earlier);
      if (earlier.status !== null) return earlier;
      if (entry.createdAt.getTime() - earlier.createdAt.getTime() < abandonedMilliseconds) throw inProgress();
      await manager.update(Idempotency, { tenant, key }, { createdAt: entry.createdAt });
      return null;
    });
  }
}

/** False for what a retry may change. */
function isFinal(thrown: unknown): boolean {
  const error = explain(thrown);
  const status = statusOf(error);
  return status < 500 && status !== 429 && error.code !== 'IDEMPOTENCY_IN_PROGRESS';
}

function without(answer: unknown, member: string | undefined): unknown {
  if (member === undefined || typeof answer !== 'object' || answer === null) return answer;
  return Object.fromEntries(Object.entries(answer).filter(([name]) => name !== member));
}

type KeptError = Pick<CodedError, 'family' | 'code' | 'detail'>;

const families = { configuration: ConfigurationError, collateral: CollateralError, rejection: Rejection };

function keptError({ family, code, detail }: CodedError): KeptError {
  return { family, code, detail };
}

function replay(earlier: Idempotency, response: Response): unknown {
  response.setHeader('idempotent-replayed', 'true');
  if (earlier.status! >= 400) {
    const { family, code, detail } = earlier.answer as KeptError;
    throw new families[family](code, detail);
  }
  response.status(earlier.status!);
  return earlier.answer;
}

function mismatch(earlier: Idempotency) {
  return refusal('IDEMPOTENCY_MISMATCH', {
    expected: `the same request as before under this key (${earlier.request})`,
    got: 'another request or body',
    rule,
    action: 'Use a new key for a new request.',
  });
}
