/** Follows the events of one job from any event id on, without gaps: the database is read, signals only wake. */
import { Injectable } from '@nestjs/common';
import { DataSource, MoreThan } from 'typeorm';
import { Job, JobEvent } from '#libs/persistence';
import type { Principal } from '../auth/principal.js';
import { jobTopic, Signals } from '../events/signals.js';
import { Streams } from '../overload/streams.js';
import { refusal } from '../problem/codes.js';
import { endStates, type JobState } from './state-machine.js';

const batchSize = 200;
/** Signals say when; this is for one that got lost. */
const lookAgainMilliseconds = 30_000;

@Injectable()
export class JobStream {
  constructor(
    private readonly database: DataSource,
    private readonly signals: Signals,
    private readonly streams: Streams,
  ) {}

  /** `follow`, counted among the streams of the caller until it ends or is aborted. @throws Rejection STREAMS_MAX */
  open({ keyId }: Principal, jobId: string, afterId: string, abort: AbortSignal): AsyncGenerator<JobEvent> {
    const leave = this.streams.enter(keyId);
    abort.addEventListener('abort', leave, { once: true });
    return this.counted(this.follow(jobId, afterId, abort), leave);
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
      const job = await this.database.manager.findOneByOrFail(Job, { id: jobId });
      const where = { jobId, id: MoreThan(last) };
      const events = await this.database.manager.find(JobEvent, { where, order: { id: 'ASC' }, take: batchSize });
      for (const event of events) {
        if (abort.aborted) return;
        yield event;
        last = event.id;
      }
      if (events.length === batchSize) continue;
      if (endStates.includes(job.state as JobState)) return;
      await woken;
    }
  }
}

/** @throws Rejection REQUEST_MALFORMED when the text is no id of an event */
export function eventId(text: string): string {
  if (/^(0|[1-9][0-9]{0,17})$/.test(text)) return text;
  throw refusal('REQUEST_MALFORMED', { expected: 'the id of an event', got: text.slice(0, 40), rule: 'openapi.json' });
}
