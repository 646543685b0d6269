/** API keys: made here, shown once, revoked for good. */
import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiResponse, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { Address, TenantName, text, roles, scopes, KeyId, KeyView } from '#libs/wire';
import { ApiKeys, Key, KeyPage } from '../../core/auth/api-keys.js';
import { Allow, Caller, everyTenant, type Principal } from '../../core/auth/principal.js';
import { ShownOnce } from '../../core/idempotency/idempotency.interceptor.js';
import { decodeCursor, PageQuery } from '../../core/paging.js';

const NewKey = z
  .object({
    /** null or absent: of every tenant; for administrators, and for them alone. */
    tenant: TenantName.nullable().default(null),
    role: z.enum(roles),
    name: text(64).default(''),
    /** Account that the operator's nodes are paid to; for operators, and for them alone. */
    provider: Address.optional(),
    /** From then on the key is refused; absent: never. */
    expiresAt: z.iso.datetime({ offset: true }).optional(),
    /** What it may do of what its role may; absent: all of it. */
    scopes: z.array(z.enum(scopes)).min(1).max(scopes.length).optional(),
  })
  .refine(({ role, tenant }) => role === 'admin' || tenant !== null, 'a tenant, which administrators alone may lack')
  .refine(
    ({ role, provider }) => (role === 'operator') === (provider !== undefined),
    'a provider for the role operator, and for it alone',
  )
  .meta({ id: 'NewKey' });
/** `key` stands only in the first answer; a replay has none. */
const CreatedKey = KeyView.extend({ key: z.string().optional() }).meta({ id: 'CreatedKey' });

@ApiTags('keys')
@ApiBearerAuth()
@Controller('v1/keys')
@Allow('admin')
export class KeysController {
  constructor(private readonly keys: ApiKeys) {}

  @Post()
  @ShownOnce('key')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 201, standardSchema: CreatedKey })
  create(@Caller() caller: Principal, @Body({ schema: NewKey }) body: z.infer<typeof NewKey>) {
    const { tenant, role, name, provider = null, expiresAt, scopes: own = null } = body;
    const end = expiresAt === undefined ? null : new Date(expiresAt);
    return this.keys.create(caller, {
      tenant: tenant ?? everyTenant,
      role,
      name,
      provider,
      expiresAt: end,
      scopes: own,
    });
  }

  @Get()
  @ApiResponse({ status: 200, standardSchema: KeyPage })
  list(@Caller() caller: Principal, @Query({ schema: PageQuery }) query: z.infer<typeof PageQuery>) {
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, KeyId);
    return this.keys.list(caller, query.limit, after);
  }

  /** The key is refused from the next request on; revoking it again changes nothing. */
  @Post(':id/revoke')
  @HttpCode(200)
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: Key })
  revoke(@Caller() caller: Principal, @Param('id', { schema: KeyId }) id: string) {
    return this.keys.revoke(caller, id);
  }
}
