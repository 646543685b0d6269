/**
 * Sessions of the console: an API key is exchanged for 32 random bytes in a cookie that no script reads. Who a session
 * stands for is what its key stands for now: a key that is refused has none.
 */
import { createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, In, LessThan, MoreThan } from 'typeorm';
import { z } from 'zod';
import { ConsoleSession } from '#libs/persistence';
import { AuditLog } from '../audit/audit-log.js';
import { refusal } from '../problem/codes.js';
import { Clock } from '../timing/clock.js';
import { keysTopic, Signals } from '../timing/signals.js';
import { ApiKeys } from './api-keys.js';
import type { Principal } from './principal.js';

/** Without a request it ends; and in any case. */
const idleSeconds = 30 * 60;
const lifeSeconds = 12 * 3600;
/** Of one key; the oldest goes first. */
const sessionsMax = 50;
/** The last use of a session is known as exactly as this. */
const usedSeconds = 60;
const shape = /^[A-Za-z0-9_-]{43}$/;

/** Browsers take a cookie of this name over https and of this host alone. */
const cookieName = '__Host-vt';
const attributes = 'Path=/; Secure; HttpOnly; SameSite=Strict';
export const sessionCookie = (value: string): string => `${cookieName}=${value}; ${attributes}; Max-Age=${lifeSeconds}`;
export const forgetting = (): string => `${cookieName}=; ${attributes}; Max-Age=0`;

export const SessionView = z
  .object({
    /** Good for ending it, and for nothing else. */
    id: z.string(),
    createdAt: z.iso.datetime(),
    /** To a minute. */
    usedAt: z.iso.datetime(),
    /** However much it is used. */
    endsAt: z.iso.datetime(),
    /** The one that asks. */
    isThis: z.boolean(),
  })
  .meta({ id: 'Session' });
export type SessionView = z.infer<typeof SessionView>;

interface Opened {
  readonly cookie: string;
  readonly principal: Principal;
}

@Injectable()
export class Sessions {
  constructor(
    private readonly database: DataSource,
    private readonly keys: ApiKeys,
    private readonly auditLog: AuditLog,
    private readonly signals: Signals,
    private readonly clock: Clock,
  ) {}

  /**
   * Always a new cookie: what the browser sent before ends, whoever put it there.
   * @throws Rejection AUTH_MISSING, AUTH_UNKNOWN
   */
  async open(key: string, earlier: string | undefined): Promise<Opened> {
    return this.openFor(await this.keys.authenticate(key), earlier);
  }

  /** For somebody who was recognised. */
  async openFor(principal: Principal, earlier: string | undefined): Promise<Opened> {
    const cookie = randomBytes(32).toString('base64url');
    const [at, digest, { keyId, tenant }] = [this.clock.now(), digestOf(cookie), principal];
    await this.database.transaction(async (manager) => {
      if (earlier !== undefined) await manager.delete(ConsoleSession, { digest: digestOf(earlier) });
      await manager.delete(ConsoleSession, { createdAt: LessThan(this.before(lifeSeconds)) });
      const own = await manager.find(ConsoleSession, { where: { keyId }, order: { createdAt: 'DESC' } });
      const tooMany = own.slice(sessionsMax - 1).map((one) => one.digest);
      if (tooMany.length > 0) await manager.delete(ConsoleSession, { digest: In(tooMany) });
      await manager.insert(ConsoleSession, { digest, keyId, createdAt: at, usedAt: at });
      await this.auditLog.audit(manager, { actor: keyId, tenant }, 'session.open', keyId);
    });
    this.signals.raise(keysTopic);
    return { cookie, principal: { ...principal, session: digest } };
  }

  /** @throws Rejection SESSION_ENDED */
  async authenticate(cookie: string): Promise<Principal> {
    const digest = digestOf(cookie);
    const row = shape.test(cookie)
      ? await this.database.manager.findOneBy(ConsoleSession, this.live({ digest }))
      : null;
    const principal = row === null ? null : await this.keys.standing(row.keyId);
    if (row === null || principal === null) throw ended();
    if (row.usedAt < this.before(usedSeconds)) {
      await this.database.manager.update(ConsoleSession, { digest }, { usedAt: this.clock.now() });
    }
    return { ...principal, session: digest };
  }

  /** When it ends, however much it is used. */
  async endOf(digest: string): Promise<Date> {
    const { createdAt } = await this.database.manager.findOneByOrFail(ConsoleSession, { digest });
    return new Date(createdAt.getTime() + 1000 * lifeSeconds);
  }

  async close(cookie: string): Promise<void> {
    await this.database.manager.delete(ConsoleSession, { digest: digestOf(cookie) });
    this.signals.raise(keysTopic);
  }

  /** Those of the caller's key that have not ended, newest first. */
  async of({ keyId, session }: Principal): Promise<SessionView[]> {
    const where = this.live({ keyId });
    const rows = await this.database.manager.find(ConsoleSession, { where, order: { createdAt: 'DESC' } });
    return rows.map(({ digest, createdAt, usedAt }) => ({
      ...{ id: idOf(digest), createdAt: createdAt.toISOString(), usedAt: usedAt.toISOString() },
      endsAt: new Date(createdAt.getTime() + 1000 * lifeSeconds).toISOString(),
      isThis: digest === session,
    }));
  }

  /** One of the caller's own, and what it follows. @throws Rejection SESSION_UNKNOWN */
  async end({ keyId, tenant }: Principal, id: string): Promise<void> {
    const own = await this.database.manager.findBy(ConsoleSession, { keyId });
    const digest = own.find((one) => idOf(one.digest) === id)?.digest;
    if (digest === undefined) throw unknown(id);
    await this.database.transaction(async (manager) => {
      await manager.delete(ConsoleSession, { digest });
      await this.auditLog.audit(manager, { actor: keyId, tenant }, 'session.end', keyId);
    });
    this.signals.raise(keysTopic);
  }

  /** Of these digests, those of sessions that are no more. */
  async ended(digests: readonly string[]): Promise<readonly string[]> {
    const rows = await this.database.manager.findBy(ConsoleSession, this.live({ digest: In([...digests]) }));
    const live = new Set(rows.map(({ digest }) => digest));
    return digests.filter((digest) => !live.has(digest));
  }

  private live<T extends object>(among: T) {
    return {
      ...among,
      createdAt: MoreThan(this.before(lifeSeconds)),
      usedAt: MoreThan(this.before(idleSeconds)),
    };
  }

  private before(seconds: number): Date {
    return new Date(this.clock.now().getTime() - 1000 * seconds);
  }
}

export function cookieOf(headers: Readonly<Record<string, unknown>>, name = cookieName): string | undefined {
  const header = headers['cookie'];
  if (typeof header !== 'string') return undefined;
  const pairs = header.split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

function digestOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('hex');
}

/** Nobody finds the cookie from it, nor its digest. */
function idOf(digest: string): string {
  return digestOf(digest).slice(0, 24);
}

function unknown(id: string) {
  return refusal('SESSION_UNKNOWN', {
    expected: 'a session of this key',
    got: id.slice(0, 64),
    rule: 'apps/control-plane/README.md, console',
    action: 'List them again.',
  });
}

function ended() {
  return refusal('SESSION_ENDED', {
    expected: 'a session that has not ended',
    got: 'another',
    rule: 'apps/control-plane/README.md, console',
    action: 'Sign in again.',
  });
}
