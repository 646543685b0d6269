/** API keys `vt_<id>_<secret>`: stored as SHA-256 of the secret, compared in constant time. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, IsNull, MoreThan } from 'typeorm';
import { ApiKey } from '#libs/persistence';
import { Clock } from '../clock.js';
import type { BootstrapKey, Config } from '../config.js';
import { keysTopic, Signals } from '../events/signals.js';
import { JobJournal } from '../jobs/journal.js';
import { pageOf, type Page } from '../paging.js';
import { refusal } from '../problem/codes.js';
import { CONFIG } from '../tokens.js';
import type { Principal } from './principal.js';

const shape = /^vt_([A-Za-z0-9]{4,32})_([A-Za-z0-9_-]{16,128})$/;
const rule = 'control-plane README, authorisation';
/** A replica that did not hear of a revocation heeds it after this time. */
const knownMilliseconds = 1000;
const knownMax = 10_000;

@Injectable()
export class ApiKeys {
  readonly #known = new Map<string, { readonly row: ApiKey; readonly at: number }>();

  constructor(
    private readonly database: DataSource,
    private readonly journal: JobJournal,
    private readonly signals: Signals,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    signals.on(keysTopic, () => this.#known.clear());
  }

  /** A key that is there already stays as it is, revoked or not. */
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
    if (row === null || row.revokedAt !== null || !timingSafeEqual(row.secretHash, digest(secret))) throw unknown();
    return { keyId: row.id, tenant: row.tenant, role: row.role, provider: row.provider };
  }

  /** @returns the key itself, which is nowhere stored */
  async create(principal: Principal, wanted: NewApiKey): Promise<ApiKeyView & { readonly key: string }> {
    const id = randomBytes(8).toString('hex');
    const secret = randomBytes(32).toString('base64url');
    const row: ApiKey = { ...wanted, id, secretHash: digest(secret), createdAt: this.clock.now(), revokedAt: null };
    await this.database.transaction(async (manager) => {
      await manager.insert(ApiKey, row);
      await this.journal.audit(manager, { actor: principal.keyId, tenant: principal.tenant }, 'key.create', id);
    });
    return { ...viewOf(row), key: `vt_${id}_${secret}` };
  }

  /** Every tenant's, in the order of their ids. */
  async list(limit: number, after: string | undefined): Promise<Page<ApiKeyView>> {
    const where = after === undefined ? {} : { id: MoreThan(after) };
    const rows = await this.database.manager.find(ApiKey, { where, order: { id: 'ASC' }, take: limit + 1 });
    return pageOf(rows, limit, ({ id }) => id, viewOf);
  }

  /** @throws Rejection KEY_UNKNOWN */
  async revoke(principal: Principal, id: string): Promise<ApiKeyView> {
    const revoked = await this.database.transaction(async (manager) => {
      const { affected } = await manager.update(ApiKey, { id, revokedAt: IsNull() }, { revokedAt: this.clock.now() });
      const row = await manager.findOneBy(ApiKey, { id });
      if (row === null) throw refusal('KEY_UNKNOWN', { expected: 'the id of an API key', got: id, rule });
      const by = { actor: principal.keyId, tenant: principal.tenant };
      if (affected === 1) await this.journal.audit(manager, by, 'key.revoke', id);
      return viewOf(row);
    });
    this.signals.raise(keysTopic);
    return revoked;
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
    const { tenant, role, name, provider = null } = key;
    const row = { id: id!, tenant, role, name, provider, secretHash: digest(secret!), createdAt: this.clock.now() };
    await this.database.manager
      .createQueryBuilder()
      .insert()
      .into(ApiKey)
      .values({ ...row, revokedAt: null })
      .orIgnore()
      .execute();
  }
}

export type NewApiKey = Pick<ApiKey, 'tenant' | 'role' | 'name' | 'provider'>;

export interface ApiKeyView extends NewApiKey {
  readonly id: string;
  readonly createdAt: string;
  readonly revokedAt: string | null;
}

function viewOf({ id, tenant, role, name, provider, createdAt, revokedAt }: ApiKey): ApiKeyView {
  const times = { createdAt: createdAt.toISOString(), revokedAt: revokedAt?.toISOString() ?? null };
  return { id, tenant, role, name, provider, ...times };
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function unknown() {
  return refusal('AUTH_UNKNOWN', {
    expected: 'an API key that is known and not revoked',
    got: 'another',
    rule,
    action: 'Ask the operator for a key.',
  });
}
