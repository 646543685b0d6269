import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { AuditChain } from '../../core/audit/audit-chain.js';
import { AuditList, AuditPage, ListAudit } from '../../core/audit/audit-list.js';
import { Allow, Caller, demandGlobal, isGlobal, type Principal } from '../../core/auth/principal.js';

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
    private readonly entries: AuditList,
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
  list(
    @Caller() caller: Principal,
    @Query({ schema: ListAudit }) query: z.infer<typeof ListAudit>,
  ): Promise<AuditPage> {
    return this.entries.list(isGlobal(caller) ? null : caller.tenant, query);
  }
}
