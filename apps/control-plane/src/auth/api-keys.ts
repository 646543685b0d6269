/** API keys `vt_<id>_<secret>`: stored as SHA-256 of the secret, compared in constant time. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ApiKey } from '#libs/persistence';
import { Clock } from '../clock.js';
import type { BootstrapKey, Config } from '../config.js';
import { refusal } from '../problem/codes.js';
import { CONFIG } from '../tokens.js';
import type { Principal } from './principal.js';

const shape = /^vt_([A-Za-z0-9]{4,32})_([A-Za-z0-9_-]{16,128})$/;
const rule = 'control-plane README, authorisation';

@Injectable()
export class ApiKeys {
  constructor(
    private readonly database: DataSource,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

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
    const row = await this.database.manager.findOneBy(ApiKey, { id });
    if (row === null || row.revokedAt !== null || !timingSafeEqual(row.secretHash, digest(secret))) throw unknown();
    return { keyId: row.id, tenant: row.tenant, role: row.role, provider: row.provider };
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
