import { once } from 'node:events';
import {
  Body,
  Controller,
  Get,
  Header,
  Headers,
  HttpCode,
  Param,
  Post,
  Query,
  Res,
  Sse,
  StreamableFile,
  type MessageEvent,
} from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Observable } from 'rxjs';
import { z } from 'zod';
import { base64, Hex32, httpUrl, JobRequirements, limits, TermsJson } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { KeepsReply, Reply, type PendingReply } from '../../core/idempotency/pending-reply.js';
import { BlobStore } from '../../core/objects/blob-store.js';
import { BodyOfAtMost } from '../../core/overload/body.guard.js';
import { largeBodyBytesMax } from '../../core/overload/limits.js';
import { NewJobs } from '../../core/overload/shedding.js';
import { PageQuery } from '../../core/paging.js';
import { Appraisals, AppraisalView } from '../../evidence/appraisals.js';
import { BundleAssembly } from '../../evidence/bundle-assembly.js';
import { streamOf } from '../../data/parts.js';
import { JobCommands } from '../../jobs/job-commands.js';
import { eventId, JobStream } from '../../jobs/job-stream.js';
import { assuranceKinds, JobPage, JobView } from '../../jobs/job.view.js';
import { Jobs, searchShape } from '../../jobs/jobs.service.js';
import { SegmentPage, Segments } from '../../jobs/segments.js';
import { jobStates } from '../../jobs/state-machine.js';
import { MadeAt } from './location.interceptor.js';
import { whileOpen } from './while-open.js';

const Priority = z.int().min(0).max(9);
const Reorder = z.object({ priority: Priority }).meta({ id: 'Reorder' });
const SubmitJob = z
  .object({
    /** Deterministic CBOR of the job spec, base64. */
    spec: base64(limits.specBytesMax),
    /** Escrow terms, contracts/SPEC.md §5. */
    terms: TermsJson,
    /** Appraisal policy, base64 of its canonical bytes. */
    policy: base64(limits.policyBytesMax),
    /** Where a node asks for the data key. */
    brokerUrl: httpUrl(512),
    /** 0 goes first, 9 last; below 5 for administrators. */
    priority: Priority.default(5),
    /** What a node must offer, beyond what the policy says. */
    requirements: JobRequirements.default({}),
    /** SHA-256 of the uploaded parts of the weights that it starts from, in order, where its manifest names some. */
    start: z.array(Hex32).max(limits.startPartsMax).default([]),
  })
  .meta({ id: 'SubmitJob' });
const ListJobs = PageQuery.extend({
  state: z.enum(jobStates).optional(),
  assurance: assuranceKinds.optional(),
  /** Submitted then or later. */
  since: z.iso.datetime({ offset: true }).optional(),
  /** The beginning of a job's id, or the code that it waits or ended with. */
  search: z.string().regex(searchShape).optional(),
});

@ApiTags('jobs')
@ApiBearerAuth()
@Controller('v1/jobs')
export class JobsController {
  constructor(
    private readonly jobs: Jobs,
    private readonly commands: JobCommands,
    private readonly stream: JobStream,
    private readonly blobs: BlobStore,
    private readonly bundles: BundleAssembly,
    private readonly appraisalsOf: Appraisals,
    private readonly segmentsOf: Segments,
  ) {}

  @Post()
  @Allow('client')
  @MadeAt('/v1/jobs')
  @KeepsReply(201)
  @NewJobs()
  @BodyOfAtMost(largeBodyBytesMax)
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 201, standardSchema: JobView })
  submit(
    @Caller() caller: Principal,
    @Reply() reply: PendingReply,
    @Body({ schema: SubmitJob }) body: z.infer<typeof SubmitJob>,
  ): Promise<JobView> {
    const input = {
      spec: Buffer.from(body.spec, 'base64'),
      terms: body.terms,
      policy: Buffer.from(body.policy, 'base64'),
      brokerUrl: body.brokerUrl,
      idempotencyKey: reply.entry.key,
      priority: body.priority,
      requirements: body.requirements,
      start: body.start,
    };
    return this.jobs.submit(caller, input, reply);
  }

  @Get()
  @Allow('client', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: JobPage })
  list(@Caller() caller: Principal, @Query({ schema: ListJobs }) query: z.infer<typeof ListJobs>) {
    const { since, ...filter } = query;
    return this.jobs.list(caller, { ...filter, since: since === undefined ? undefined : new Date(since) });
  }

  @Get(':id')
  @Allow('client', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: JobView })
  get(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<JobView> {
    return this.jobs.view(caller, id);
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @Allow('client', 'admin')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: JobView })
  cancel(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<JobView> {
    return this.commands.cancel(caller, id);
  }

  @Post(':id/pause')
  @HttpCode(200)
  @Allow('client', 'admin')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: JobView })
  pause(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<JobView> {
    return this.commands.pause(caller, id);
  }

  @Post(':id/resume')
  @HttpCode(200)
  @Allow('client', 'admin')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: JobView })
  resume(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<JobView> {
    return this.commands.resume(caller, id);
  }

  @Post(':id/retry')
  @HttpCode(200)
  @Allow('client', 'admin')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: JobView })
  retry(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<JobView> {
    return this.commands.retry(caller, id);
  }

  @Post(':id/priority')
  @HttpCode(200)
  @Allow('client', 'admin')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: JobView })
  reorder(
    @Caller() caller: Principal,
    @Param('id', { schema: Hex32 }) id: string,
    @Body({ schema: Reorder }) { priority }: z.infer<typeof Reorder>,
  ): Promise<JobView> {
    return this.commands.reorder(caller, id, priority);
  }

  /** Server-sent events; `Last-Event-ID` goes on after that event. */
  @Sse(':id/events')
  @Allow('client', 'reviewer', 'admin')
  @ApiHeader({ name: 'last-event-id', required: false })
  @ApiProduces('text/event-stream')
  async events(
    @Caller() caller: Principal,
    @Param('id', { schema: Hex32 }) id: string,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Observable<MessageEvent>> {
    const after = eventId(lastEventId ?? '0');
    const job = await this.jobs.find(caller, id);
    const abort = whileOpen(response);
    const events = this.stream.open(caller, job.id, after, abort);
    return new Observable((subscriber) => {
      const pump = async (): Promise<void> => {
        for await (const event of events) {
          const data = { ...event.data, at: event.at.toISOString() };
          subscriber.next({ id: event.id, type: event.type, data });
          // Who does not read is not read for: what waits stays within the buffers of one connection.
          if (response.writableNeedDrain) await once(response, 'drain', { signal: abort.signal });
        }
        subscriber.complete();
      };
      // Who follows comes back with the last id; an error would look like an event.
      pump().catch(() => subscriber.complete());
      return () => abort.abort();
    });
  }

  /** Its segments one by one, in their order. */
  @Get(':id/segments')
  @Allow('client', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: SegmentPage })
  segments(
    @Caller() caller: Principal,
    @Param('id', { schema: Hex32 }) id: string,
    @Query({ schema: PageQuery }) query: z.infer<typeof PageQuery>,
  ): Promise<SegmentPage> {
    return this.segmentsOf.list(caller, id, query.limit, query.cursor);
  }

  /** What its policy said of the evidence that nodes offered, newest first: 50 of them, refused ones too. */
  @Get(':id/appraisals')
  @Allow('client', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: z.array(AppraisalView) })
  async appraisals(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<AppraisalView[]> {
    return this.appraisalsOf.ofJob((await this.jobs.find(caller, id)).id);
  }

  /** The result's ciphertext. */
  @Get(':id/result')
  @Allow('client')
  @Header('content-type', 'application/octet-stream')
  @ApiProduces('application/octet-stream')
  @ApiHeader({ name: 'range', required: false })
  async result(
    @Caller() caller: Principal,
    @Param('id', { schema: Hex32 }) id: string,
    @Headers('range') range: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StreamableFile> {
    return streamOf(this.blobs, await this.jobs.resultBlob(caller, id), range, response);
  }

  /** The evidence bundle, verifiable offline. */
  @Get(':id/bundle')
  @Allow('client', 'reviewer', 'admin')
  @Header('content-type', 'application/octet-stream')
  @ApiProduces('application/octet-stream')
  async bundle(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<StreamableFile> {
    return new StreamableFile(await this.bundles.assemble(await this.jobs.find(caller, id)));
  }
}
