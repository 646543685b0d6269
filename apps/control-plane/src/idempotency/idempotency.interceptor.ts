/**
 * Every POST carries an idempotency key: the same key with the same body gets the same answer, with another body it is
 * refused. Answers that say "not now" (401, 403, 429, 5xx) are not kept, so a retry can succeed.
 */
import { createHash } from 'node:crypto';
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { DataSource, LessThan } from 'typeorm';
import { CollateralError, ConfigurationError, Rejection, type CodedError } from '#attestation';
import { Idempotency } from '#libs/persistence';
import { carrierOf, type Principal } from '../auth/principal.js';
import { Clock } from '../clock.js';
import { refusal, statusOf } from '../problem/codes.js';
import { explain } from '../problem/explain.js';

const rule = 'control-plane README, idempotency';
const keyShape = /^[\x21-\x7e]{1,128}$/;
/** After this a request that never answered is taken as lost with its process. */
const abandonedMilliseconds = 60_000;
const keptMilliseconds = 24 * 3600 * 1000;

type BodyRequest = Request & { rawBody?: Buffer };

@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    private readonly database: DataSource,
    private readonly clock: Clock,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle();
    const request = context.switchToHttp().getRequest<BodyRequest>();
    if (request.method !== 'POST') return next.handle();
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
    const earlier = await this.claim(entry);
    if (earlier !== null) return replay(earlier, response);
    const where = { tenant: entry.tenant, key: entry.key };
    try {
      const answer: unknown = await lastValueFrom(next.handle());
      await this.database.manager.update(Idempotency, where, { status: response.statusCode, answer: answer as object });
      return answer;
    } catch (thrown) {
      const error = explain(thrown);
      const status = statusOf(error);
      if (status >= 500 || status === 429)
        await this.database.manager.delete(Idempotency, where).catch(() => undefined);
      else await this.database.manager.update(Idempotency, where, { status, answer: keep(error) });
      throw thrown;
    }
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

type KeptError = Pick<CodedError, 'family' | 'code' | 'detail'>;

const families = { configuration: ConfigurationError, collateral: CollateralError, rejection: Rejection };

function keep({ family, code, detail }: CodedError): KeptError {
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

function inProgress() {
  return refusal('IDEMPOTENCY_IN_PROGRESS', {
    expected: 'the first request under this key to have ended',
    got: 'one that still runs',
    rule,
    action: 'Retry in a moment.',
  });
}
