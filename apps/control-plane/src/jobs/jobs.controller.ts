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
  Sse,
  StreamableFile,
  type MessageEvent,
} from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import { Observable } from 'rxjs';
import { z } from 'zod';
import { base64, Hex32, limits, TermsJson } from '#libs/messaging';
import { Allow, Caller, type Principal } from '../auth/principal.js';
import { BlobStore } from '../datasets/blob-store.js';
import { BundleAssembly } from '../evidence/bundle-assembly.js';
import { PageQuery } from '../paging.js';
import { eventId, JobStream } from './job-stream.js';
import { jobView, JobPage, JobView } from './job.view.js';
import { Jobs } from './jobs.service.js';
import { jobStates } from './state-machine.js';

const SubmitJob = z
  .object({
    /** Deterministic CBOR of the job spec, base64. */
    spec: base64(limits.specBytesMax),
    /** Escrow terms, settlement §5. */
    terms: TermsJson,
    /** Appraisal policy, base64 of its canonical bytes. */
    policy: base64(limits.policyBytesMax),
    /** Where a node asks for the data key. */
    brokerUrl: z.url({ protocol: /^https?$/ }).max(512),
  })
  .meta({ id: 'SubmitJob' });
const ListJobs = PageQuery.extend({ state: z.enum(jobStates).optional() });

@ApiTags('jobs')
@ApiBearerAuth()
@Controller('v1/jobs')
export class JobsController {
  constructor(
    private readonly jobs: Jobs,
    private readonly stream: JobStream,
    private readonly blobs: BlobStore,
    private readonly bundles: BundleAssembly,
  ) {}

  @Post()
  @Allow('client')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 201, standardSchema: JobView })
  submit(
    @Caller() caller: Principal,
    @Headers('idempotency-key') idempotencyKey: string,
    @Body({ schema: SubmitJob }) body: z.infer<typeof SubmitJob>,
  ): Promise<JobView> {
    return this.jobs.submit(caller, {
      spec: Buffer.from(body.spec, 'base64'),
      terms: body.terms,
      policy: Buffer.from(body.policy, 'base64'),
      brokerUrl: body.brokerUrl,
      idempotencyKey,
    });
  }

  @Get()
  @Allow('client', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: JobPage })
  list(@Caller() caller: Principal, @Query({ schema: ListJobs }) query: z.infer<typeof ListJobs>) {
    return this.jobs.list(caller, query);
  }

  @Get(':id')
  @Allow('client', 'reviewer', 'admin')
  @ApiResponse({ status: 200, standardSchema: JobView })
  async get(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<JobView> {
    return jobView(await this.jobs.find(caller, id));
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @Allow('client', 'admin')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 200, standardSchema: JobView })
  cancel(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<JobView> {
    return this.jobs.cancel(caller, id);
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
  ): Promise<Observable<MessageEvent>> {
    const after = eventId(lastEventId ?? '0');
    const job = await this.jobs.find(caller, id);
    return new Observable((subscriber) => {
      const abort = new AbortController();
      const pump = async (): Promise<void> => {
        for await (const event of this.stream.follow(job.id, after, abort.signal)) {
          const data = { ...event.data, at: event.at.toISOString() };
          subscriber.next({ id: event.id, type: event.type, data });
        }
        subscriber.complete();
      };
      pump().catch((error: unknown) => subscriber.error(error));
      return () => abort.abort();
    });
  }

  /** The result's ciphertext. */
  @Get(':id/result')
  @Allow('client')
  @Header('content-type', 'application/octet-stream')
  @ApiProduces('application/octet-stream')
  async result(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<StreamableFile> {
    return new StreamableFile(await this.blobs.open(await this.jobs.resultBlob(caller, id)));
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
