import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { PageQuery } from '../../core/paging.js';
import { EarningPage, Earnings } from '../../settlement/earnings.js';

@ApiTags('earnings')
@ApiBearerAuth()
@Controller('v1/earnings')
export class EarningsController {
  constructor(private readonly earnings: Earnings) {}

  /** What the account of the key was paid, job by job. */
  @Get()
  @Allow('operator')
  @ApiResponse({ status: 200, standardSchema: EarningPage })
  list(
    @Caller() caller: Principal,
    @Query({ schema: PageQuery }) query: z.infer<typeof PageQuery>,
  ): Promise<EarningPage> {
    return this.earnings.list(caller, query.limit, query.cursor);
  }
}
