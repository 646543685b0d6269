/**
 * Wakes who follows a job here when another replica wrote an event of it: one look at the newest events for all
 * followers, however many. A transaction may commit after one whose ids are larger, so a look goes back some seconds.
 */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Logger } from '#libs/telemetry';
import { LOGGER } from '../config/tokens.js';
import { Streams } from '../overload/streams.js';
import { Clock } from '../timing/clock.js';
import { Periodic } from '../timing/periodic.js';
import { jobTopic, Signals } from '../timing/signals.js';

const lookMilliseconds = 1000;
const backMilliseconds = 5000;

interface Mark {
  readonly id: string;
  readonly at: number;
}

/** @param mark  an older id: nothing at or before it is still to come */
type Told = (ids: readonly string[], mark: string) => Promise<void>;

@Injectable()
export class EventTail implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #loop: Periodic;
  /** The newest id at each look, oldest first. */
  #marks: Mark[] = [];
  #seen = new Set<string>();
  #told: Told = () => Promise.resolve();

  constructor(
    private readonly database: DataSource,
    private readonly streams: Streams,
    private readonly signals: Signals,
    private readonly clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#loop = new Periodic('event tail', lookMilliseconds, async () => void (await this.look()), logger);
  }

  onApplicationBootstrap(): void {
    this.#loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#loop.stop();
  }

  /** @param told  called with the ids of new events, oldest first, while anybody follows anything */
  onNew(told: Told): void {
    this.#told = told;
  }

  /** @returns an id at or before which nothing is still to come; 0 where nobody follows anything */
  async look(): Promise<string> {
    if (this.streams.count === 0) {
      this.#marks = [];
      return '0';
    }
    const at = this.clock.monotonic();
    while (this.#marks.length > 1 && at - this.#marks[1]!.at > backMilliseconds) this.#marks.shift();
    const [from] = this.#marks;
    const rows = await this.database.query<{ id: string; job_id: string }[]>(
      from === undefined
        ? 'SELECT id, job_id FROM job_event ORDER BY id DESC LIMIT 1'
        : 'SELECT id, job_id FROM job_event WHERE id > $1 ORDER BY id DESC',
      from === undefined ? [] : [from.id],
    );
    const fresh = rows.filter(({ id }) => !this.#seen.has(id));
    for (const { job_id: jobId } of fresh) this.signals.hear(jobTopic(jobId));
    this.#seen = new Set(rows.map(({ id }) => id));
    this.#marks.push({ id: rows[0]?.id ?? from?.id ?? '0', at });
    const mark = this.#marks[0]!.id;
    if (from !== undefined && fresh.length > 0) await this.#told(fresh.map(({ id }) => id).toReversed(), mark);
    return mark;
  }
}
