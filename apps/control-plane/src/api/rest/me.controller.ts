/** Whose key or session this is. */
import { Controller, Delete, Get, HttpCode, Param } from '@nestjs/common';
import { ApiBearerAuth, ApiResponse, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { Address, roles, scopes } from '#libs/wire';
import { ApiKeys } from '../../core/auth/api-keys.js';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { Sessions, SessionView } from '../../core/auth/sessions.js';

const SessionId = z.string().regex(/^[0-9a-f]{24}$/);
const Me = z
  .object({
    keyId: z.string(),
    name: z.string(),
    /** null: of every tenant. */
    tenant: z.string().nullable(),
    role: z.enum(roles),
    provider: Address.nullable(),
    expiresAt: z.iso.datetime().nullable(),
    /** null: all that the role may. */
    scopes: z.array(z.enum(scopes)).nullable(),
    /** When the session of the console ends, however much it is used; null: the key itself asks. */
    sessionEndsAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Me' });

@ApiTags('keys')
@ApiBearerAuth()
@Controller('v1/me')
export class MeController {
  constructor(
    private readonly keys: ApiKeys,
    private readonly sessions: Sessions,
  ) {}

  @Get()
  @Allow('client', 'operator', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: Me })
  async get(@Caller() { keyId, session }: Principal): Promise<z.infer<typeof Me>> {
    const { name, tenant, role, provider, expiresAt, scopes: own } = await this.keys.view(keyId);
    const ends = session === undefined ? null : await this.sessions.endOf(session);
    return { keyId, name, tenant, role, provider, expiresAt, scopes: own, sessionEndsAt: ends?.toISOString() ?? null };
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
