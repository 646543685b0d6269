import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { Hex32 } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { PageQuery } from '../../core/paging.js';
import { LogEntries, LogEntryPage, LogState } from '../../evidence/log-entries.js';

const ListEntries = PageQuery.extend({
  /** Entries of this job alone. */
  job: Hex32.optional(),
});

@ApiTags('log')
@ApiBearerAuth()
@Controller('v1/log')
@Allow('client', 'reviewer', 'admin')
export class LogController {
  constructor(private readonly entries: LogEntries) {}

  /** The transparency log as this control plane uses it. Its own tiles and witnesses are the better source. */
  @Get()
  @ApiResponse({ status: 200, standardSchema: LogState })
  state(@Caller() caller: Principal): Promise<LogState> {
    return this.entries.state(caller);
  }

  /** What was brought there of the caller's jobs, newest first, each with its proof. */
  @Get('entries')
  @ApiResponse({ status: 200, standardSchema: LogEntryPage })
  list(@Caller() caller: Principal, @Query({ schema: ListEntries }) query: z.infer<typeof ListEntries>) {
    return this.entries.list(caller, query);
  }
}
