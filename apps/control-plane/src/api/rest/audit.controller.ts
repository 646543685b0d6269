import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import { DataSource, LessThan } from 'typeorm';
import { z } from 'zod';
import { AuditEntry } from '#libs/persistence';
import { AuditChain } from '../../core/audit/audit-chain.js';
import { Allow, Caller, demandGlobal, isGlobal, type Principal } from '../../core/auth/principal.js';
import { decodeCursor, pageOf, PageQuery } from '../../core/paging.js';

const AuditPage = z
  .object({
    items: z.array(
      z.object({
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
      }),
    ),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'AuditPage' });

const named = z.string().min(1).max(200).optional();
const ListAudit = PageQuery.extend({
  /** Id of the key. */
  actor: named,
  /** `job.cancel` and the like. */
  action: named,
  subject: named,
});

const AuditFound = z
  .object({
    rows: z.int(),
    /** From before the chain: its first row names them as a whole. */
    rowsBefore: z.int(),
    head: z.string().nullable(),
  })
  .meta({ id: 'AuditFound' });

@ApiTags('audit')
@ApiBearerAuth()
@Controller('v1/audit')
export class AuditController {
  constructor(
    private readonly database: DataSource,
    private readonly chain: AuditChain,
  ) {}

  /** Recomputes the chain from its first row to its head; the first row that is not what it was is the failure. */
  @Get('verified')
  @Allow('admin')
  @ApiResponse({ status: 200, standardSchema: AuditFound })
  verified(@Caller() caller: Principal): Promise<z.infer<typeof AuditFound>> {
    demandGlobal(caller);
    return this.chain.verify();
  }

  /** Who did what, newest first; for an administrator of one tenant, what its keys did. */
  @Get()
  @Allow('admin')
  @ApiResponse({ status: 200, standardSchema: AuditPage })
  async list(
    @Caller() caller: Principal,
    @Query({ schema: ListAudit }) query: z.infer<typeof ListAudit>,
  ): Promise<z.infer<typeof AuditPage>> {
    const { actor, action, subject } = query;
    const where = {
      ...(actor === undefined ? {} : { actor }),
      ...(action === undefined ? {} : { action }),
      ...(subject === undefined ? {} : { subject }),
      ...(isGlobal(caller) ? {} : { tenant: caller.tenant }),
      ...(query.cursor === undefined ? {} : { id: LessThan(decodeCursor(query.cursor)) }),
    };
    const take = query.limit + 1;
    const rows = await this.database.manager.find(AuditEntry, { where, order: { id: 'DESC' }, take });
    return pageOf(
      rows,
      query.limit,
      (row) => row.id,
      (row) => ({ ...row, at: row.at.toISOString() }),
    );
  }
}
