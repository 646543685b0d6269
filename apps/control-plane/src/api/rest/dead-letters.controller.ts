import { Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Allow, Caller, demandGlobal, type Principal } from '../../core/auth/principal.js';
import { DeadLetterPage, DeadLetters, DeadLetterView, LetterId } from '../../core/events/dead-letters.js';
import { Essential } from '../../core/overload/shedding.js';
import { decodeCursor, PageQuery } from '../../core/paging.js';

@ApiTags('dead letters')
@ApiBearerAuth()
@Controller('v1/dead-letters')
@Allow('admin')
@Essential()
export class DeadLettersController {
  constructor(private readonly letters: DeadLetters) {}

  /** Messages that could not be taken, newest first. */
  @Get()
  @ApiResponse({ status: 200, standardSchema: DeadLetterPage })
  list(@Caller() caller: Principal, @Query({ schema: PageQuery }) query: z.infer<typeof PageQuery>) {
    demandGlobal(caller);
    return this.letters.list(query.limit, query.cursor === undefined ? undefined : decodeCursor(query.cursor));
  }

  /** Handles a message again, as from its sender; `replayCode` says how that ended. */
  @Post(':id/replay')
  @HttpCode(200)
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: DeadLetterView })
  replay(@Caller() caller: Principal, @Param('id', { schema: LetterId }) id: string) {
    demandGlobal(caller);
    return this.letters.replay(caller, id);
  }
}
