/** Who was refused for want of a key, a role or a reach: counted, logged and audited, so many a minute and no more. */
import { Inject, Injectable, type ArgumentsHost } from '@nestjs/common';
import type { BaseRpcContext } from '@nestjs/microservices';
import type { Request } from 'express';
import { DataSource } from 'typeorm';
import type { Logger, Metrics } from '#libs/telemetry';
import { AuditLog } from '../audit/audit-log.js';
import { LOGGER, METRICS } from '../config/tokens.js';
import { Clock } from '../timing/clock.js';
import { addressOf } from './address.js';
import { carrierOf, type Principal } from './principal.js';
import { RateLimit } from './rate-limit.js';

const authentication = new Set([
  ...['AUTH_MISSING', 'AUTH_UNKNOWN', 'SESSION_ENDED', 'CERTIFICATE_KEY'],
  ...['OIDC_STATE', 'OIDC_REFUSED', 'OIDC_TOKEN', 'OIDC_NO_ROLE', 'OIDC_REVOKED'],
]);
const authorisation = new Set(['ROLE_FORBIDDEN', 'SCOPE_FORBIDDEN', 'NODE_PROVIDER', 'JOB_PRIORITY', 'CSRF_ORIGIN']);
/** Of one key or address; and of all, so that no number of them fills log and table. */
const notedPerMinute = { ofOne: 20, ofAll: 200 } as const;

export interface Denied {
  /** Method and route, message or `graphql`. */
  readonly place: string;
  /** Empty over dispatch. */
  readonly address: string;
  /** Whoever was recognised. */
  readonly principal?: Principal | undefined;
}

@Injectable()
export class Denials {
  readonly #rate = new RateLimit();
  /** Refusals since the last line that have none of their own. */
  #unsaid = 0;

  constructor(
    private readonly database: DataSource,
    private readonly auditLog: AuditLog,
    private readonly clock: Clock,
    @Inject(METRICS) private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Codes of other refusals are left alone. */
  note(code: string, { place, address, principal }: Denied): void {
    const kind = authentication.has(code) ? 'authentication' : authorisation.has(code) ? 'authorisation' : null;
    if (kind === null) return;
    this.metrics.refused.inc({ reason: kind });
    const at = this.clock.monotonic();
    const isSaid =
      this.#rate.take(`${kind} ${principal?.keyId ?? address}`, notedPerMinute.ofOne, at) === 0 &&
      this.#rate.take(kind, notedPerMinute.ofAll, at) === 0;
    if (!isSaid) {
      this.#unsaid += 1;
      return;
    }
    const actor = principal?.keyId ?? 'nobody';
    this.logger.warn(`${kind} refused`, { code, place, address, actor, unsaidBefore: this.#unsaid });
    this.#unsaid = 0;
    const cause = { actor, tenant: principal?.tenant ?? 'system', code };
    const subject = address === '' ? place : `${place} from ${address}`;
    this.auditLog
      .audit(this.database.manager, cause, `${kind}.refused`, subject.slice(0, 200))
      .catch((error: unknown) => this.logger.error('a refusal was not audited', { error }));
  }

  noteOf(code: string, host: ArgumentsHost): void {
    const carrier = carrierOf(host);
    const { principal } = carrier;
    switch (host.getType<'http' | 'rpc' | 'graphql'>()) {
      case 'http': {
        const { method, route, path } = host.switchToHttp().getRequest<Request>();
        const place = `${method} ${(route as { path?: string } | undefined)?.path ?? path}`;
        return this.note(code, { place, address: addressOf(carrier), principal });
      }
      case 'graphql':
        return this.note(code, { place: 'graphql', address: addressOf(carrier), principal });
      case 'rpc': {
        const context = host.switchToRpc().getContext<BaseRpcContext & { getPattern?: () => string }>();
        return this.note(code, { place: context.getPattern?.() ?? 'dispatch', address: '', principal });
      }
    }
  }
}
