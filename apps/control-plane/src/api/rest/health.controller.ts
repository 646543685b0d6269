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
import { keptFor } from '../../core/timing/kept.js';
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

/** Shorter than a scrape's interval: anybody may ask for `/metrics`, and it counts all jobs. */
const standingMilliseconds = 5000;

@ApiTags('health')
@Controller()
@Public()
@Essential()
export class HealthController {
  readonly #standing: () => Promise<readonly StandingRow[]>;

  constructor(
    private readonly database: DataSource,
    private readonly watcher: EscrowWatcher,
    private readonly shedding: Shedding,
    private readonly clock: Clock,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {
    this.#standing = keptFor(standingMilliseconds, clock, () => standingOf(database));
  }

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
    const rows = await this.#standing();
    const countOf = (state: string): number => Number(rows.find((row) => row.state === state)?.count ?? 0);
    for (const state of jobStates) this.metrics.jobs.set({ state }, countOf(state));
    const ends = rows.flatMap(({ until }) => (until === null ? [] : until.getTime()));
    // NaN while no attested session is at work.
    const least = ends.length === 0 ? Number.NaN : Math.min(...ends) - this.clock.now().getTime();
    this.metrics.freshness.set(least / 1000);
    return this.metrics.registry.metrics();
  }
}

interface StandingRow {
  readonly state: string;
  readonly count: string;
  /** The first end of an attestation of a job at work. */
  readonly until: Date | null;
}

/** Reads every job: its price grows with the table. */
function standingOf(database: DataSource): Promise<StandingRow[]> {
  return database.manager
    .createQueryBuilder(Job, 'j')
    .select('j.state', 'state')
    .addSelect('count(*)', 'count')
    .addSelect('min(j.attested_until) FILTER (WHERE j.state IN (:...attested))', 'until')
    .setParameter('attested', attestedStates)
    .groupBy('j.state')
    .getRawMany<StandingRow>();
}
