/** Whose key or session this is. */
import { Controller, Delete, Get, HttpCode, Param } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { Me, Mine } from '../../core/auth/me.js';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { Sessions, SessionView } from '../../core/auth/sessions.js';

const SessionId = z.string().regex(/^[0-9a-f]{24}$/);

@ApiTags('keys')
@ApiBearerAuth()
@Controller('v1/me')
export class MeController {
  constructor(
    private readonly mine: Mine,
    private readonly sessions: Sessions,
  ) {}

  @Get()
  @Allow('client', 'operator', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: Me })
  get(@Caller() caller: Principal): Promise<Me> {
    return this.mine.of(caller);
  }

  /** Sessions of the console that the key opened. */
  @Get('sessions')
  @Allow('client', 'operator', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: z.array(SessionView) })
  list(@Caller() caller: Principal): Promise<SessionView[]> {
    return this.sessions.of(caller);
  }

  /** Ends one, and what it follows. */
  @Delete('sessions/:id')
  @HttpCode(204)
  @Allow('client', 'operator', 'reviewer', 'admin')
  end(@Caller() caller: Principal, @Param('id', { schema: SessionId }) id: string): Promise<void> {
    return this.sessions.end(caller, id);
  }
}
