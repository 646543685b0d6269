/** The audit log as administrators read it. */
import { Injectable } from '@nestjs/common';
import { DataSource, LessThan } from 'typeorm';
import { z } from 'zod';
import { AuditEntry } from '#libs/persistence';
import { decodeCursor, pageOf, PageQuery } from '../paging.js';

export const AuditView = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  tenant: z.string(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  code: z.string().nullable(),
  /** Place in the chain, and SHA-256 of the row before; null in the moment before it is chained, and for older rows. */
  n: z.string().nullable(),
  prev: z.string().nullable(),
});
export const AuditPage = z
  .object({ items: z.array(AuditView), nextCursor: z.string().nullable() })
  .meta({ id: 'AuditPage' });
export type AuditPage = z.infer<typeof AuditPage>;

const named = z.string().min(1).max(200).optional();
export const ListAudit = PageQuery.extend({
  /** Id of the key. */
  actor: named,
  /** `job.cancel` and the like. */
  action: named,
  subject: named,
});

@Injectable()
export class AuditList {
  constructor(private readonly database: DataSource) {}

  /** Newest first. @param tenant  whose keys' doings; null: everybody's */
  async list(tenant: string | null, query: z.infer<typeof ListAudit>): Promise<AuditPage> {
    const { actor, action, subject, cursor, limit } = query;
    const where = {
      ...(actor === undefined ? {} : { actor }),
      ...(action === undefined ? {} : { action }),
      ...(subject === undefined ? {} : { subject }),
      ...(tenant === null ? {} : { tenant }),
      ...(cursor === undefined ? {} : { id: LessThan(decodeCursor(cursor)) }),
    };
    const rows = await this.database.manager.find(AuditEntry, { where, order: { id: 'DESC' }, take: limit + 1 });
    return pageOf(
      rows,
      limit,
      (row) => row.id,
      (row) => ({ ...row, at: row.at.toISOString() }),
    );
  }
}
