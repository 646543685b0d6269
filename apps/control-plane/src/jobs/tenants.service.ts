/** Tenants: what each has, and how much it may have. */
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { z } from 'zod';
import { ApiKey, TenantLimit } from '#libs/persistence';
import { AuditLog } from '../core/audit/audit-log.js';
import { demandGlobal, everyTenant, isGlobal, type Principal } from '../core/auth/principal.js';
import type { Config } from '../core/config/config.js';
import { CONFIG } from '../core/config/tokens.js';
import { pageOf } from '../core/paging.js';
import { refusal } from '../core/problem/codes.js';
import { leasedStates } from './state-machine.js';

const countMax = 10_000_000;
const bytesMax = Number.MAX_SAFE_INTEGER;

/** null: as the settings say for every tenant. */
export const TenantLimits = z
  .object({
    jobsWaitingMax: z.int().min(0).max(countMax).nullable().default(null),
    jobsUnderWayMax: z.int().min(0).max(countMax).nullable().default(null),
    datasetBytesMax: z.int().min(0).max(bytesMax).nullable().default(null),
  })
  .meta({ id: 'TenantLimits' });
export type TenantLimits = z.infer<typeof TenantLimits>;

export const TenantView = z
  .object({
    tenant: z.string(),
    /** That are good now. */
    keys: z.int(),
    jobsWaiting: z.int(),
    jobsWaitingMax: z.int(),
    jobsUnderWay: z.int(),
    jobsUnderWayMax: z.int(),
    datasetBytes: z.int(),
    datasetBytesMax: z.int(),
    /** Whether any limit is its own. */
    ownLimits: z.boolean(),
  })
  .meta({ id: 'Tenant' });
export type TenantView = z.infer<typeof TenantView>;
export const TenantPage = z
  .object({ items: z.array(TenantView), nextCursor: z.string().nullable() })
  .meta({ id: 'TenantPage' });
export type TenantPage = z.infer<typeof TenantPage>;

interface Had {
  readonly tenant: string;
  readonly keys: string;
  readonly waiting: string;
  readonly under_way: string;
  readonly bytes: string;
}

/** Of tenants that have a key, in the order of their names. */
const had = `
  SELECT t.tenant, t.keys,
    (SELECT count(*) FROM job j WHERE j.tenant = t.tenant AND j.state = 'submitted') AS waiting,
    (SELECT count(*) FROM job j WHERE j.tenant = t.tenant AND j.state = ANY($1)) AS under_way,
    (SELECT coalesce(sum(s.bytes), 0) FROM dataset_shard s JOIN dataset d ON d.id = s.dataset_id
      WHERE d.tenant = t.tenant) AS bytes
  FROM (SELECT tenant, count(*) FILTER (WHERE revoked_at IS NULL) AS keys FROM api_key
    WHERE tenant <> '' AND tenant > $2 AND ($3::text IS NULL OR tenant = $3)
    GROUP BY tenant ORDER BY tenant LIMIT $4) t
  ORDER BY t.tenant`;

@Injectable()
export class Tenants {
  constructor(
    private readonly database: DataSource,
    private readonly auditLog: AuditLog,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Those of the caller's reach. */
  async list(principal: Principal, limit: number, after = everyTenant): Promise<TenantPage> {
    const only = isGlobal(principal) ? null : principal.tenant;
    const rows = await this.read(after, only, limit + 1);
    const limits = await this.database.manager.findBy(TenantLimit, { tenant: In(rows.map(({ tenant }) => tenant)) });
    const own = new Map(limits.map((row) => [row.tenant, row]));
    return pageOf(
      rows,
      limit,
      ({ tenant }) => tenant,
      (row) => this.view(row, own.get(row.tenant)),
    );
  }

  /** From the next job or data set on; what is there stays. @throws Rejection ROLE_FORBIDDEN, TENANT_UNKNOWN */
  async limit(principal: Principal, tenant: string, wanted: TenantLimits): Promise<TenantView> {
    demandGlobal(principal);
    if (!(await this.database.manager.existsBy(ApiKey, { tenant })) || tenant === everyTenant) {
      throw refusal('TENANT_UNKNOWN', {
        expected: 'a tenant that has a key',
        got: tenant.slice(0, 64),
        rule: 'apps/control-plane/README.md, scheduling',
        action: 'Make a key for it first.',
      });
    }
    const datasetBytesMax = wanted.datasetBytesMax === null ? null : String(wanted.datasetBytesMax);
    await this.database.transaction(async (manager) => {
      await manager.upsert(TenantLimit, { tenant, ...wanted, datasetBytesMax }, ['tenant']);
      const by = { actor: principal.keyId, tenant: principal.tenant };
      await this.auditLog.audit(manager, by, 'tenant.limit', tenant);
    });
    const [row] = await this.read(everyTenant, tenant, 1);
    return this.view(row!, await this.database.manager.findOneByOrFail(TenantLimit, { tenant }));
  }

  private read(after: string, only: string | null, count: number): Promise<Had[]> {
    return this.database.manager.query<Had[]>(had, [leasedStates, after, only, count]);
  }

  private view({ tenant, keys, waiting, under_way: underWay, bytes }: Had, own: TenantLimit | undefined): TenantView {
    const { jobsWaitingMax, jobsUnderWayMax, clientDatasetBytesMax } = this.config;
    return {
      ...{ tenant, keys: Number(keys), jobsWaiting: Number(waiting), jobsUnderWay: Number(underWay) },
      ...{ datasetBytes: Number(bytes), jobsWaitingMax: own?.jobsWaitingMax ?? jobsWaitingMax },
      jobsUnderWayMax: own?.jobsUnderWayMax ?? jobsUnderWayMax,
      datasetBytesMax: Number(own?.datasetBytesMax ?? clientDatasetBytesMax),
      ownLimits: [own?.jobsWaitingMax, own?.jobsUnderWayMax, own?.datasetBytesMax].some((one) => one != null),
    };
  }
}
