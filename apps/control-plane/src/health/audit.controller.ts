import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import { DataSource, LessThan } from 'typeorm';
import { z } from 'zod';
import { AuditEntry } from '#libs/persistence';
import { Allow } from '../auth/principal.js';
import { decodeCursor, pageOf, PageQuery } from '../paging.js';

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
      }),
    ),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'AuditPage' });

@ApiTags('audit')
@ApiBearerAuth()
@Controller('v1/audit')
export class AuditController {
  constructor(private readonly database: DataSource) {}

  /** Who did what, newest first. */
  @Get()
  @Allow('admin')
  @ApiResponse({ status: 200, standardSchema: AuditPage })
  async list(@Query({ schema: PageQuery }) query: z.infer<typeof PageQuery>): Promise<z.infer<typeof AuditPage>> {
    const where = query.cursor === undefined ? {} : { id: LessThan(decodeCursor(query.cursor)) };
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
