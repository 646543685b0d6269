/**
 * People whom an identity provider knows. Each has a row among the API keys, with a secret that nobody has: so they are
 * listed, limited, audited and revoked as keys are, and stand for what the rules said at their newest sign-in.
 */
import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ApiKey } from '#libs/persistence';
import { AuditLog } from '../audit/audit-log.js';
import type { Config } from '../config/config.js';
import type { OidcRule } from '../config/oidc.js';
import { CONFIG } from '../config/tokens.js';
import { refusal } from '../problem/codes.js';
import { Clock } from '../timing/clock.js';
import { keysTopic, Signals } from '../timing/signals.js';
import type { Claims } from './identity-provider.js';
import { everyTenant, type Principal } from './principal.js';

const nameCharactersMax = 64;
const rule = 'apps/control-plane/README.md, console';

@Injectable()
export class People {
  constructor(
    private readonly database: DataSource,
    private readonly auditLog: AuditLog,
    private readonly signals: Signals,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** @throws Rejection OIDC_NO_ROLE, OIDC_REVOKED */
  async admit(claims: Claims): Promise<Principal> {
    const id = idOf(claims);
    const { tenant, role, provider, scopes } = this.ruleFor(claims);
    const standing = { tenant: tenant ?? everyTenant, role, provider, scopes: scopes === null ? null : [...scopes] };
    const name = nameOf(claims);
    await this.database.transaction(async (manager) => {
      const secretHash = createHash('sha256').update(randomBytes(32)).digest();
      const fresh = { id, ...standing, name, secretHash, createdAt: this.clock.now() };
      const ends = { revokedAt: null, expiresAt: null, lastUsedAt: null };
      await manager
        .createQueryBuilder()
        .insert()
        .into(ApiKey)
        .values({ ...fresh, ...ends })
        .orIgnore()
        .execute();
      const known = await manager.findOneByOrFail(ApiKey, { id });
      if (known.revokedAt !== null) throw revoked(name);
      const action = known.secretHash.equals(secretHash) ? 'key.create' : 'key.change';
      const isChanged = (['tenant', 'role', 'provider'] as const).some((one) => known[one] !== standing[one]);
      await manager.update(ApiKey, { id }, { ...standing, name, lastUsedAt: this.clock.now() });
      if (action === 'key.change' && !isChanged) return;
      await this.auditLog.audit(manager, { actor: id, tenant: standing.tenant }, action, id);
    });
    this.signals.raise(keysTopic);
    return { keyId: id, ...standing };
  }

  private ruleFor(claims: Claims): OidcRule {
    const found = this.config.oidc?.rules.find((one) =>
      Object.entries(one.claims).every(([name, value]) => holds(claims, name, value)),
    );
    if (found !== undefined) return found;
    throw refusal('OIDC_NO_ROLE', {
      expected: 'somebody whom a rule of this control plane gives a role',
      got: nameOf(claims),
      rule,
      action: 'Ask whoever runs the control plane for access.',
    });
  }
}

/** An address that the provider did not verify is what its owner typed. */
function holds(claims: Claims, name: string, value: string): boolean {
  if (name === 'email' && claims['email_verified'] !== true) return false;
  const said = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return said === value || (Array.isArray(said) && said.includes(value));
}

/** A provider never gives one subject to two people; another provider may. */
function idOf({ iss, sub }: Claims): string {
  return `sso${createHash('sha256')
    .update(JSON.stringify([iss, sub]))
    .digest('hex')
    .slice(0, 29)}`;
}

/** For lists and the audit log; nothing hangs on it. */
function nameOf({ email, preferred_username: user, name, sub }: Claims): string {
  const said = [email, user, name, sub].find((one): one is string => typeof one === 'string' && one !== '') ?? '';
  return said.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, nameCharactersMax);
}

function revoked(got: string) {
  return refusal('OIDC_REVOKED', {
    expected: 'somebody who was not shut out here',
    got,
    rule,
    action: 'Ask whoever runs the control plane for an API key.',
  });
}
