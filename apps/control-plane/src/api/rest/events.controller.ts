import { once } from 'node:events';
import { Controller, Query, Req, Res, Sse, type MessageEvent } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Observable } from 'rxjs';
import { z } from 'zod';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { FeedEventView } from '../../jobs/job-event.view.js';
import { JobFeed } from '../../jobs/job-feed.js';
import { eventId } from '../../jobs/job-stream.js';
import { whileOpen } from './while-open.js';

const From = z.object({ after: z.string().max(20).optional() });

@ApiTags('jobs')
@ApiBearerAuth()
@Controller('v1/events')
export class EventsController {
  constructor(private readonly feed: JobFeed) {}

  /**
   * Server-sent events of every job that the caller sees, from now on, or from a `mark` on (`after`, or the header that a
   * browser sends by itself): each at least once, the events of one job in their order.
   */
  @Sse()
  @Allow('client', 'reviewer', 'admin')
  @ApiHeader({ name: 'last-event-id', required: false })
  @ApiProduces('text/event-stream')
  @ApiResponse({ status: 200, standardSchema: FeedEventView })
  async events(
    @Caller() caller: Principal,
    @Req() request: Request,
    @Query({ schema: From }) { after }: z.infer<typeof From>,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Observable<MessageEvent>> {
    const from = request.header('last-event-id') ?? after;
    const abort = whileOpen(response);
    const events = await this.feed.open(caller, from === undefined ? null : eventId(from), abort);
    return new Observable((subscriber) => {
      const pump = async (): Promise<void> => {
        for await (const event of events) {
          subscriber.next({ id: event.mark, type: 'job', data: event });
          if (response.writableNeedDrain) await once(response, 'drain', { signal: abort.signal });
        }
        subscriber.complete();
      };
      // Who follows comes back with the last id; an error would look like an event.
      pump().catch(() => subscriber.complete());
      return () => abort.abort();
    });
  }
}
