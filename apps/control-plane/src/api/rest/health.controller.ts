import { Controller, Get, Header, Inject } from '@nestjs/common';
import { ApiResponse, ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { Job } from '#libs/persistence';
import type { Metrics } from '#libs/telemetry';
import { Public } from '../../core/auth/principal.js';
import { METRICS } from '../../core/config/tokens.js';
import { shedLevels } from '../../core/overload/pressure.js';
import { Essential, Shedding } from '../../core/overload/shedding.js';
import { Clock } from '../../core/timing/clock.js';
import { attestedStates, jobStates } from '../../jobs/state-machine.js';
import { EscrowWatcher } from '../../settlement/watcher.js';

const Readiness = z
  .object({
    /** `degraded`: the chain is away, so that no job can be funded or settled, or some requests are shed. */
    status: z.enum(['ok', 'degraded']),
    database: z.literal('ok'),
    /** What is not taken now because this replica is behind, and everything before it. */
    shedding: z.enum(shedLevels),
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
@Essential()
export class HealthController {
  constructor(
    private readonly database: DataSource,
    private readonly watcher: EscrowWatcher,
    private readonly shedding: Shedding,
    private readonly clock: Clock,
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
    const { level } = this.shedding;
    const isDegraded = chain.state === 'degraded' || level > 0;
    return { status: isDegraded ? 'degraded' : 'ok', database: 'ok', shedding: shedLevels[level], chain };
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
    this.metrics.freshness.set(await this.leastFreshness());
    return this.metrics.registry.metrics();
  }

  /** Seconds; NaN while no attested session is at work. */
  private async leastFreshness(): Promise<number> {
    const row = await this.database.manager
      .createQueryBuilder(Job, 'j')
      .select('min(j.attested_until)', 'until')
      .where('j.state IN (:...states)', { states: attestedStates })
      .getRawOne<{ until: Date | null }>();
    const until = row?.until ?? null;
    return until === null ? Number.NaN : (until.getTime() - this.clock.now().getTime()) / 1000;
  }
}
