import { Controller, Get, Header, Inject } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { Job } from '#libs/persistence';
import type { Metrics } from '#libs/telemetry';
import { Public } from '../auth/principal.js';
import { jobStates } from '../jobs/state-machine.js';
import { EscrowWatcher } from '../settlement/watcher.js';
import { METRICS } from '../tokens.js';

const Readiness = z
  .object({
    /** `degraded`: requests are answered, but no job can be funded or settled until the chain is back. */
    status: z.enum(['ok', 'degraded']),
    database: z.literal('ok'),
    chain: z.object({
      state: z.enum(['off', 'starting', 'ok', 'degraded']),
      block: z.int().nullable(),
      readAt: z.int().nullable(),
      code: z.string().nullable(),
    }),
  })
  .meta({ id: 'Readiness' });

@ApiTags('health')
@Controller()
@Public()
export class HealthController {
  constructor(
    private readonly database: DataSource,
    private readonly watcher: EscrowWatcher,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  /** The process answers. */
  @Get('health/live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** The database answers; otherwise 503. */
  @Get('health/ready')
  @ApiResponse({ status: 200, standardSchema: Readiness })
  async ready(): Promise<z.infer<typeof Readiness>> {
    await this.database.query('SELECT 1');
    const chain = this.watcher.status;
    return { status: chain.state === 'degraded' ? 'degraded' : 'ok', database: 'ok', chain };
  }

  @Get('metrics')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  async scrape(): Promise<string> {
    const rows = await this.database.manager
      .createQueryBuilder(Job, 'j')
      .select('j.state', 'state')
      .addSelect('count(*)', 'count')
      .groupBy('j.state')
      .getRawMany<{ state: string; count: string }>();
    for (const state of jobStates) this.metrics.jobs.set({ state }, 0);
    for (const { state, count } of rows) this.metrics.jobs.set({ state }, Number(count));
    return this.metrics.registry.metrics();
  }
}
