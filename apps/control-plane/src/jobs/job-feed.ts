/**
 * Follows the events of all jobs of a tenant, so that lists move by themselves. One look at what is new serves all who
 * follow. Events of one job come in their order, every one at least once; progress that came with newer is left out.
 */
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { JobEvent } from '#libs/persistence';
import { isGlobal, type Principal } from '../core/auth/principal.js';
import { EventTail } from '../core/events/event-tail.js';
import { Streams } from '../core/overload/streams.js';
import { jobEventView, type FeedEventView } from './job-event.view.js';

/** Of one follower who does not read; then its stream ends, and it comes back where it was. */
const waitingMax = 2000;
const batchSize = 500;

interface Follower {
  /** null: of all. */
  readonly tenant: string | null;
  readonly waiting: JobEvent[];
  mark: string;
  wake(): void;
  end(): void;
}

type Row = { [K in keyof JobEvent]: JobEvent[K] } & { readonly tenant: string };

@Injectable()
export class JobFeed {
  readonly #followers = new Set<Follower>();

  constructor(
    private readonly database: DataSource,
    private readonly streams: Streams,
    private readonly tail: EventTail,
  ) {
    tail.onNew((ids, mark) => this.tell(ids, mark));
  }

  /**
   * Until aborted, or the caller's key or session has ended.
   * @param afterMark  `mark` of what was seen before; null: from now on
   * @throws Rejection STREAMS_MAX
   */
  async open(
    principal: Principal,
    afterMark: string | null,
    abort: AbortController,
  ): Promise<AsyncGenerator<FeedEventView>> {
    const leave = this.streams.enter(principal.keyId, () => abort.abort(), principal.session);
    const follower = this.followerOf(principal, abort);
    this.#followers.add(follower);
    const over = (): void => {
      this.#followers.delete(follower);
      leave();
    };
    abort.signal.addEventListener('abort', over, { once: true });
    try {
      // From this look on the tail tells what is new; what came between it and the mark is read here.
      follower.mark = await this.tail.look();
      return this.follow(follower, afterMark, abort.signal, over);
    } catch (error) {
      over();
      throw error;
    }
  }

  private followerOf(principal: Principal, abort: AbortController): Follower {
    return {
      tenant: isGlobal(principal) ? null : principal.tenant,
      ...{ waiting: [], mark: '0', wake: () => undefined, end: () => abort.abort() },
    };
  }

  private async *follow(
    follower: Follower,
    afterMark: string | null,
    abort: AbortSignal,
    over: () => void,
  ): AsyncGenerator<FeedEventView> {
    abort.addEventListener('abort', () => follower.wake(), { once: true });
    try {
      for (let after = afterMark; after !== null && !abort.aborted;) {
        const missed = await this.read('e.id > $1', [after], follower.tenant);
        for (const event of missed) yield { ...jobEventView(event), mark: older(event.id, follower.mark) };
        after = missed.length < batchSize ? null : missed.at(-1)!.id;
      }
      while (!abort.aborted) {
        const woken = new Promise<void>((resolve) => (follower.wake = resolve));
        for (const event of newestProgress(follower.waiting.splice(0)))
          yield { ...jobEventView(event), mark: follower.mark };
        if (follower.waiting.length === 0 && !abort.aborted) await woken;
      }
    } finally {
      over();
    }
  }

  private async tell(ids: readonly string[], mark: string): Promise<void> {
    if (this.#followers.size === 0) return;
    for (let from = 0; from < ids.length; from += batchSize) {
      const rows = await this.read('e.id = ANY($1::bigint[])', [ids.slice(from, from + batchSize)], null);
      for (const follower of this.#followers) {
        const own = follower.tenant === null ? rows : rows.filter(({ tenant }) => tenant === follower.tenant);
        if (own.length === 0) continue;
        follower.waiting.push(...own);
        follower.mark = mark;
        if (follower.waiting.length > waitingMax) follower.end();
        else follower.wake();
      }
    }
  }

  private async read(where: string, values: unknown[], tenant: string | null): Promise<Row[]> {
    const ofTenant = tenant === null ? '' : ' AND j.tenant = $2';
    return this.database.query<Row[]>(
      `SELECT e.id::text AS id, e.job_id AS "jobId", e.type, e.data, e.at, j.tenant
         FROM job_event e JOIN job j ON j.id = e.job_id
        WHERE ${where}${ofTenant} ORDER BY e.id LIMIT ${batchSize}`,
      tenant === null ? values : [...values, tenant],
    );
  }
}

function older(one: string, other: string): string {
  return BigInt(one) < BigInt(other) ? one : other;
}

/** A list shows the newest alone. */
function newestProgress(events: readonly JobEvent[]): readonly JobEvent[] {
  const newest = new Map(events.map((event) => [`${event.jobId} ${event.type}`, event]));
  return events.filter((event) => event.type !== 'progress' || newest.get(`${event.jobId} progress`) === event);
}
