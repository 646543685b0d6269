/** API keys `vt_<id>_<secret>`: stored as SHA-256 of the secret, compared in constant time. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In, IsNull, LessThanOrEqual, MoreThan, Not } from 'typeorm';
import { z } from 'zod';
import { ApiKey } from '#libs/persistence';
import type { Logger } from '#libs/telemetry';
import { KeyView } from '#libs/wire';
import { AuditLog } from '../audit/audit-log.js';
import type { BootstrapKey, Config } from '../config/config.js';
import { CONFIG, LOGGER } from '../config/tokens.js';
import { pageOf, type Page } from '../paging.js';
import { refusal } from '../problem/codes.js';
import { Clock } from '../timing/clock.js';
import { keysTopic, Signals } from '../timing/signals.js';
import { checkHandedOn } from './scopes.js';
import { everyTenant, forbiddenReach, isGlobal, seesTenant, type Principal } from './principal.js';

const shape = /^vt_([A-Za-z0-9]{4,32})_([A-Za-z0-9_-]{16,128})$/;
const rule = 'apps/control-plane/README.md, authorisation';
/** A replica that did not hear of a revocation heeds it after this time. */
const knownMilliseconds = 1000;
const knownMax = 10_000;
/** The last use of a key is known as exactly as this. */
const usedMilliseconds = 60_000;

export const Key = KeyView.meta({ id: 'Key' });
export const KeyPage = z.object({ items: z.array(Key), nextCursor: z.string().nullable() }).meta({ id: 'KeyPage' });

@Injectable()
export class ApiKeys {
  readonly #known = new Map<string, { readonly row: ApiKey; readonly at: number }>();
  /** When each key was last written down as used, monotonic milliseconds. */
  readonly #used = new Map<string, number>();

  constructor(
    private readonly database: DataSource,
    private readonly auditLog: AuditLog,
    private readonly signals: Signals,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    signals.on(keysTopic, () => this.#known.clear());
  }

  /**
   * A key that is there already stays as it is, revoked or not; but an administrator's for which the file names no
   * tenant is of none from then on.
   */
  async bootstrap(): Promise<void> {
    for (const key of this.config.bootstrapKeys) await this.put(key);
  }

  /** @throws Rejection AUTH_MISSING, AUTH_UNKNOWN */
  async authenticate(key: unknown): Promise<Principal> {
    if (typeof key !== 'string' || key === '') {
      throw refusal('AUTH_MISSING', {
        expected: 'an API key',
        got: 'none',
        rule,
        action: 'Send the header `authorization: Bearer vt_…`.',
      });
    }
    const [, id, secret] = shape.exec(key) ?? [];
    if (id === undefined || secret === undefined) throw unknown();
    const row = await this.find(id);
    if (row === null || !timingSafeEqual(row.secretHash, digest(secret)) || !isGood(row, this.clock.now()))
      throw unknown();
    this.noteUse(row.id);
    return principalOf(row);
  }

  /** Who the key stands for, as long as it is good; null: it is refused from now on. */
  async standing(id: string): Promise<Principal | null> {
    const row = await this.find(id);
    return row === null || !isGood(row, this.clock.now()) ? null : principalOf(row);
  }

  /** @throws Rejection KEY_UNKNOWN */
  async view(id: string): Promise<KeyView> {
    const row = await this.database.manager.findOneBy(ApiKey, { id });
    if (row === null) throw refusal('KEY_UNKNOWN', { expected: 'the id of an API key', got: id, rule });
    return viewOf(row);
  }

  /** Of these keys, those that are refused from now on. */
  async ended(ids: readonly string[]): Promise<readonly string[]> {
    const among = { id: In([...ids]) };
    const rows = await this.database.manager.find(ApiKey, {
      where: [
        { ...among, revokedAt: Not(IsNull()) },
        { ...among, expiresAt: LessThanOrEqual(this.clock.now()) },
      ],
      select: { id: true },
    });
    for (const { id } of rows) this.#known.delete(id);
    return rows.map(({ id }) => id);
  }

  /**
   * @returns the key itself, which is nowhere stored
   * @throws Rejection ROLE_FORBIDDEN, SCOPE_FORBIDDEN, KEY_EXPIRY
   */
  async create(principal: Principal, wanted: NewApiKey): Promise<KeyView & { readonly key: string }> {
    this.checkWanted(principal, wanted);
    checkHandedOn(principal, wanted.scopes);
    const id = randomBytes(8).toString('hex');
    const secret = randomBytes(32).toString('base64url');
    const made = { id, secretHash: digest(secret), createdAt: this.clock.now(), revokedAt: null, lastUsedAt: null };
    const row: ApiKey = { ...wanted, ...made };
    await this.database.transaction(async (manager) => {
      await manager.insert(ApiKey, row);
      await this.auditLog.audit(manager, { actor: principal.keyId, tenant: principal.tenant }, 'key.create', id);
    });
    return { ...viewOf(row), key: `vt_${id}_${secret}` };
  }

  /** Those of the caller's reach, in the order of their ids. */
  async list(principal: Principal, limit: number, after: string | undefined): Promise<Page<KeyView>> {
    const where = {
      ...(isGlobal(principal) ? {} : { tenant: principal.tenant }),
      ...(after === undefined ? {} : { id: MoreThan(after) }),
    };
    const rows = await this.database.manager.find(ApiKey, { where, order: { id: 'ASC' }, take: limit + 1 });
    return pageOf(rows, limit, ({ id }) => id, viewOf);
  }

  /** @throws Rejection KEY_UNKNOWN */
  async revoke(principal: Principal, id: string): Promise<KeyView> {
    const revoked = await this.database.transaction(async (manager) => {
      const found = await manager.findOneBy(ApiKey, { id });
      if (found === null || !seesTenant(principal, found.tenant)) {
        throw refusal('KEY_UNKNOWN', { expected: 'the id of an API key', got: id, rule });
      }
      const { affected } = await manager.update(ApiKey, { id, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
      const row = await manager.findOneByOrFail(ApiKey, { id });
      const by = { actor: principal.keyId, tenant: principal.tenant };
      if (affected === 1) await this.auditLog.audit(manager, by, 'key.revoke', id);
      return viewOf(row);
    });
    this.signals.raise(keysTopic);
    return revoked;
  }

  /** An administrator of one tenant makes keys of that tenant, and none that binds an account that is paid. */
  private checkWanted(principal: Principal, { tenant, role, expiresAt }: NewApiKey): void {
    if (!seesTenant(principal, tenant)) throw forbiddenReach('keys of its own tenant', tenant || 'every tenant');
    if (role === 'operator' && !isGlobal(principal)) throw forbiddenReach('keys of other roles', 'one of an operator');
    if (expiresAt === null || expiresAt > this.clock.now()) return;
    const got = expiresAt.toISOString();
    throw refusal('KEY_EXPIRY', { expected: 'an end that lies ahead', got, rule, action: 'Name a later time.' });
  }

  /** Written now and then, behind the request: nothing waits for it. */
  private noteUse(id: string): void {
    const at = this.clock.monotonic();
    if (at - (this.#used.get(id) ?? -Infinity) < usedMilliseconds) return;
    if (this.#used.size >= knownMax) this.#used.clear();
    this.#used.set(id, at);
    this.database.manager
      .update(ApiKey, { id }, { lastUsedAt: this.clock.now() })
      .catch((error: unknown) => this.logger.warn('the last use of a key was not written', { key: id, error }));
  }

  /** As it was within the last moment; a key that is not known is asked for each time. */
  private async find(id: string): Promise<ApiKey | null> {
    const at = this.clock.monotonic();
    const known = this.#known.get(id);
    if (known !== undefined && at - known.at < knownMilliseconds) return known.row;
    const row = await this.database.manager.findOneBy(ApiKey, { id });
    if (this.#known.size >= knownMax) this.#known.clear();
    if (row === null) this.#known.delete(id);
    else this.#known.set(id, { row, at });
    return row;
  }

  private async put(key: BootstrapKey): Promise<void> {
    const [, id, secret] = shape.exec(key.key)!;
    const { tenant = everyTenant, role, name, provider = null } = key;
    const secretHash = digest(secret!);
    const row = { id: id!, tenant, role, name, provider, secretHash, createdAt: this.clock.now() };
    const { manager } = this.database;
    const insert = manager.createQueryBuilder().insert().into(ApiKey);
    await insert
      .values({ ...row, revokedAt: null, expiresAt: null, lastUsedAt: null, scopes: null })
      .orIgnore()
      .execute();
    if (tenant === everyTenant) await manager.update(ApiKey, { id: id!, role: 'admin', secretHash }, { tenant });
  }
}

/** Neither revoked nor at its end. */
export function isGood({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, now: Date): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

type NewApiKey = Pick<ApiKey, 'tenant' | 'role' | 'name' | 'provider' | 'expiresAt' | 'scopes'>;

function principalOf({ id, tenant, role, provider, scopes }: ApiKey): Principal {
  return { keyId: id, tenant, role, provider, scopes };
}

function viewOf(row: ApiKey): KeyView {
  const { id, tenant, role, name, provider, scopes, createdAt, revokedAt, expiresAt, lastUsedAt } = row;
  const who = { id, tenant: tenant === everyTenant ? null : tenant, role, name, provider, scopes };
  const text = (time: Date | null): string | null => time?.toISOString() ?? null;
  const times = { createdAt: createdAt.toISOString(), revokedAt: text(revokedAt) };
  return { ...who, ...times, expiresAt: text(expiresAt), lastUsedAt: text(lastUsedAt) };
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function unknown() {
  return refusal('AUTH_UNKNOWN', {
    expected: 'an API key that is known, not revoked and not expired',
    got: 'another',
    rule,
    action: 'Ask the operator for a key.',
  });
}
