/** Follows the events of one job from any event id on, without gaps: the database is read, signals only wake. */
import { Injectable } from '@nestjs/common';
import { DataSource, MoreThan } from 'typeorm';
import { Job, JobEvent } from '#libs/persistence';
import type { Principal } from '../core/auth/principal.js';
import { Streams } from '../core/overload/streams.js';
import { refusal } from '../core/problem/codes.js';
import { Batches, type Outcome } from '../core/timing/batches.js';
import { jobTopic, Signals } from '../core/timing/signals.js';
import { endStates, type JobState } from './state-machine.js';

const batchSize = 200;
/** Followers whose looks are one; between two rounds others have their turn. */
const round = { size: 256, rounds: 2 };
/** Signals say when; this is for one that got lost. */
const lookAgainMilliseconds = 30_000;

interface Look {
  readonly jobId: string;
  readonly after: string;
}

interface Seen {
  readonly state: JobState;
  readonly events: readonly JobEvent[];
}

@Injectable()
export class JobStream {
  readonly #look: (look: Look) => Promise<Seen>;

  constructor(
    private readonly database: DataSource,
    private readonly signals: Signals,
    private readonly streams: Streams,
    batches: Batches,
  ) {
    this.#look = batches.make(round, (looks: readonly Look[]) => this.lookAll(looks));
  }

  /**
   * `follow`, counted among the streams of the caller until it ends, is aborted, or the caller's key is refused.
   * @throws Rejection STREAMS_MAX
   */
  open(
    { keyId, session }: Principal,
    jobId: string,
    afterId: string,
    abort: AbortController,
  ): AsyncGenerator<JobEvent> {
    const leave = this.streams.enter(keyId, () => abort.abort(), session);
    abort.signal.addEventListener('abort', leave, { once: true });
    return this.counted(this.follow(jobId, afterId, abort.signal), leave);
  }

  private async *counted(events: AsyncGenerator<JobEvent>, leave: () => void): AsyncGenerator<JobEvent> {
    try {
      yield* events;
    } finally {
      leave();
    }
  }

  /** Ends when the job has ended and all its events were yielded, or when aborted. */
  async *follow(jobId: string, afterId: string, abort: AbortSignal): AsyncGenerator<JobEvent> {
    let last = afterId;
    while (!abort.aborted) {
      const woken = this.signals.wait(jobTopic(jobId), lookAgainMilliseconds, abort);
      const { state, events } = await this.#look({ jobId, after: last });
      for (const event of events) {
        if (abort.aborted) return;
        yield event;
        last = event.id;
      }
      if (events.length === batchSize) continue;
      if (endStates.includes(state)) return;
      await woken;
    }
  }

  /** A signal wakes all who follow a job: those who have come as far are served by one look. */
  private async lookAll(looks: readonly Look[]): Promise<Outcome<Seen>[]> {
    const shared = new Map<string, Promise<Outcome<Seen>>>();
    const outcomes = looks.map((look) => {
      const place = `${look.jobId} ${look.after}`;
      const outcome =
        shared.get(place) ??
        this.look(look).then(
          (value) => ({ value }),
          (error: unknown) => ({ error }),
        );
      shared.set(place, outcome);
      return outcome;
    });
    return Promise.all(outcomes);
  }

  private async look({ jobId, after }: Look): Promise<Seen> {
    const { manager } = this.database;
    const { state } = await manager.findOneOrFail(Job, { where: { id: jobId }, select: { id: true, state: true } });
    const where = { jobId, id: MoreThan(after) };
    const events = await manager.find(JobEvent, { where, order: { id: 'ASC' }, take: batchSize });
    return { state: state as JobState, events };
  }
}

/** @throws Rejection REQUEST_MALFORMED when the text is no id of an event */
export function eventId(text: string): string {
  if (/^(0|[1-9][0-9]{0,17})$/.test(text)) return text;
  throw refusal('REQUEST_MALFORMED', { expected: 'the id of an event', got: text.slice(0, 40), rule: 'openapi.json' });
}
