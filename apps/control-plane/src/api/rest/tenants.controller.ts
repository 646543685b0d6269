import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { TenantName } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { decodeCursor, PageQuery } from '../../core/paging.js';
import { TenantLimits, TenantPage, Tenants, TenantView } from '../../jobs/tenants.service.js';

@ApiTags('tenants')
@ApiBearerAuth()
@Controller('v1/tenants')
@Allow('admin')
export class TenantsController {
  constructor(private readonly tenants: Tenants) {}

  /** What each tenant has, and how much it may have; for an administrator of one tenant, that one. */
  @Get()
  @ApiResponse({ status: 200, standardSchema: TenantPage })
  list(
    @Caller() caller: Principal,
    @Query({ schema: PageQuery }) query: z.infer<typeof PageQuery>,
  ): Promise<TenantPage> {
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, TenantName);
    return this.tenants.list(caller, query.limit, after);
  }

  /** Sets all limits of a tenant; one that is null is that of the settings again. What is there stays. */
  @Post(':tenant/limits')
  @HttpCode(200)
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: TenantView })
  limit(
    @Caller() caller: Principal,
    @Param('tenant', { schema: TenantName }) tenant: string,
    @Body({ schema: TenantLimits }) body: TenantLimits,
  ): Promise<TenantView> {
    return this.tenants.limit(caller, tenant, body);
  }
}
