/**
 * Messages that could not be taken: what they were, from whom, and why not. They are put aside instead of being tried
 * for ever or lost; once the cause is mended, an administrator has them handled as if they had come again.
 */
import { Inject, Injectable } from '@nestjs/common';
import { BaseRpcContext, type MessageHandler } from '@nestjs/microservices';
import { from, isObservable, lastValueFrom } from 'rxjs';
import { DataSource, LessThan, LessThanOrEqual } from 'typeorm';
import { z } from 'zod';
import type { CodedError } from '#attestation/base';
import { ApiKey, DeadLetter } from '#libs/persistence';
import type { Logger, Metrics } from '#libs/telemetry';
import { AuditLog } from '../audit/audit-log.js';
import { isGood } from '../auth/api-keys.js';
import type { Principal } from '../auth/principal.js';
import { RateLimit } from '../auth/rate-limit.js';
import { LOGGER, METRICS } from '../config/tokens.js';
import { deadLetterBytesMax, deadLettersMax, deadLettersPerMinuteMax } from '../overload/limits.js';
import { pageOf, type Page } from '../paging.js';
import { refusal } from '../problem/codes.js';
import { plainText } from '../problem/explain.js';
import { Clock } from '../timing/clock.js';

const rule = 'apps/control-plane/README.md, dead letters';
/** Fits the schemas of messages and opens nothing: a replayed message has its sender in its context. */
const replayedAuth = 'vt_replayed_no-key-at-all-0000';

export interface Letter {
  /** Over what it came. */
  readonly source: 'tcp' | 'nats' | 'event';
  /** Its pattern or subject; empty where it has none. */
  readonly pattern: string;
  /** Key id of its sender; null where nobody was recognised. */
  readonly actor: string | null;
  readonly error: Pick<CodedError, 'code' | 'detail'>;
  readonly payload: unknown;
}

export const LetterId = z.string().regex(/^[1-9][0-9]{0,17}$/);
export const DeadLetterView = z
  .object({
    id: LetterId,
    at: z.iso.datetime(),
    source: z.enum(['tcp', 'nats', 'event']),
    pattern: z.string(),
    /** Key id of the sender; null where nobody was recognised. */
    actor: z.string().nullable(),
    code: z.string(),
    reason: z.record(z.string(), z.unknown()),
    bytes: z.int(),
    replayable: z.boolean(),
    replayedAt: z.iso.datetime().nullable(),
    /** `ok`, or the code of the failure. */
    replayCode: z.string().nullable(),
  })
  .meta({ id: 'DeadLetter' });
export type DeadLetterView = z.infer<typeof DeadLetterView>;
export const DeadLetterPage = z
  .object({ items: z.array(DeadLetterView), nextCursor: z.string().nullable() })
  .meta({ id: 'DeadLetterPage' });
export type DeadLetterPage = z.infer<typeof DeadLetterPage>;

/** A message that is handled again: its sender was recognised when it came first. */
export class ReplayContext extends BaseRpcContext<[string]> {
  constructor(
    pattern: string,
    readonly principal: Principal,
  ) {
    super([pattern]);
  }

  getPattern(): string {
    return this.args[0];
  }
}

@Injectable()
export class DeadLetters {
  readonly #rate = new RateLimit();
  /** Finds the handler of a pattern; set by the transport. */
  handlerOf: (pattern: string) => MessageHandler | null = () => null;

  constructor(
    private readonly database: DataSource,
    private readonly auditLog: AuditLog,
    private readonly clock: Clock,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Counts always; keeps as much of one sender as is bounded. Never fails. */
  async put({ source, pattern, actor, error, payload }: Letter): Promise<void> {
    this.metrics.deadLetters.inc({ reason: error.code });
    const sender = actor ?? source;
    if (this.#rate.take(sender, deadLettersPerMinuteMax, this.clock.monotonic()) > 0) return;
    try {
      const bytes = bytesOf(payload);
      const { identifiers } = await this.database.manager.insert(DeadLetter, {
        ...{ at: this.clock.now(), source, pattern: plainText(pattern.slice(0, 200)), actor, code: error.code },
        ...{ reason: error.detail as object, payload: bytes.subarray(0, deadLetterBytesMax), bytes: bytes.length },
        ...{ replayedAt: null, replayCode: null },
      });
      await this.forgetBefore(BigInt(identifiers[0]!['id'] as string) - BigInt(deadLettersMax));
    } catch (thrown) {
      this.logger.error('a message could not be put aside', { code: error.code, error: thrown });
    }
  }

  /** Newest first. */
  async list(limit: number, before: string | undefined): Promise<Page<DeadLetterView>> {
    const where = before === undefined ? {} : { id: LessThan(before) };
    const rows = await this.database.manager.find(DeadLetter, { where, order: { id: 'DESC' }, take: limit + 1 });
    return pageOf(rows, limit, ({ id }) => id, viewOf);
  }

  /** Handles a message again, as from its sender. @throws Rejection DEAD_LETTER_UNKNOWN, DEAD_LETTER_LOST, and why it fails again */
  async replay(principal: Principal, id: string): Promise<DeadLetterView> {
    const { manager } = this.database;
    const letter = await manager.findOneBy(DeadLetter, { id });
    if (letter === null) {
      throw refusal('DEAD_LETTER_UNKNOWN', { expected: 'the id of a message that was put aside', got: id, rule });
    }
    const handler = this.handlerOf(letter.pattern);
    const sender = letter.actor === null ? null : await manager.findOneBy(ApiKey, { id: letter.actor });
    if (!isReplayable(letter) || handler === null || sender === null) throw lost(letter);
    if (!isGood(sender, this.clock.now())) throw lost(letter, sender);
    const { id: keyId, tenant, role, provider, scopes } = sender;
    const context = new ReplayContext(letter.pattern, { keyId, tenant, role, provider, scopes });
    const message = { ...(JSON.parse(letter.payload.toString()) as object), auth: replayedAuth };
    const failure = await this.handle(handler, message, context);
    const replayed = { replayedAt: this.clock.now(), replayCode: failure === null ? 'ok' : codeOf(failure) };
    await manager.update(DeadLetter, { id }, replayed);
    await this.auditLog.audit(
      manager,
      { actor: principal.keyId, tenant: principal.tenant, ...(failure !== null && { code: replayed.replayCode }) },
      'dead-letter.replay',
      id,
    );
    return viewOf(Object.assign(letter, replayed));
  }

  /** @returns why it failed, or null */
  private async handle(handler: MessageHandler, data: unknown, context: ReplayContext): Promise<unknown> {
    try {
      const answer: unknown = await handler(data, context);
      await lastValueFrom(isObservable(answer) ? answer : from([answer]), { defaultValue: null });
      return null;
    } catch (error) {
      return error ?? 'INTERNAL';
    }
  }

  private async forgetBefore(id: bigint): Promise<void> {
    if (id > 0n) await this.database.manager.delete(DeadLetter, { id: LessThanOrEqual(String(id)) });
  }
}

/** As it can be shown and handled again: without the key that came with it. @throws RangeError where it nests too deep */
function bytesOf(payload: unknown): Buffer {
  if (Buffer.isBuffer(payload)) return payload;
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
  const kept = isObject ? Object.fromEntries(Object.entries(payload).filter(([name]) => name !== 'auth')) : payload;
  return Buffer.from(JSON.stringify(kept) ?? '');
}

function isReplayable({ source, payload, bytes, actor }: DeadLetter): boolean {
  return source !== 'event' && actor !== null && payload.length === bytes;
}

function viewOf(letter: DeadLetter): DeadLetterView {
  const { id, at, source, pattern, actor, code, reason, bytes, replayedAt, replayCode } = letter;
  return {
    ...{
      id,
      at: at.toISOString(),
      source: source as DeadLetterView['source'],
      pattern,
      actor,
      code,
      bytes,
      replayCode,
    },
    reason: reason as DeadLetterView['reason'],
    ...{ replayable: isReplayable(letter), replayedAt: replayedAt?.toISOString() ?? null },
  };
}

function codeOf(failure: unknown): string {
  const { code } = failure as { code?: unknown };
  return typeof code === 'string' ? code : 'INTERNAL';
}

function lost({ source, actor, bytes }: DeadLetter, ended?: Pick<ApiKey, 'revokedAt' | 'expiresAt'>) {
  const { revokedAt, expiresAt } = ended ?? {};
  const end = revokedAt
    ? `, revoked at ${revokedAt.toISOString()}`
    : expiresAt
      ? `, ended at ${expiresAt.toISOString()}`
      : '';
  return refusal('DEAD_LETTER_LOST', {
    expected: 'a whole message to a known pattern, from a key that is still good',
    got: `${bytes} bytes over ${source} from ${actor ?? 'nobody that was recognised'}${end}`,
    rule,
    action: 'Have its sender send it again.',
  });
}
