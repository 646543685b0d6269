import {
  Body,
  Controller,
  Delete,
  Get,
  Header,
  Headers,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Req,
  StreamableFile,
} from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiConsumes, ApiHeader, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { z } from 'zod';
import { shardBytesMax } from '#attestation/records';
import { Hex32 } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import { BlobStore, wrongOffset } from '../../core/objects/blob-store.js';
import { BodyOfAtMost } from '../../core/overload/body.guard.js';
import { largeBodyBytesMax } from '../../core/overload/limits.js';
import { Essential } from '../../core/overload/shedding.js';
import { decodeCursor, PageQuery } from '../../core/paging.js';
import { DatasetPage, Datasets, DatasetView } from '../../data/datasets.service.js';
import { bytesOf, UploadView } from '../../data/parts.js';
import { draftOf, uploadOf } from '../../data/upload.js';
import { DatasetRemoval } from '../../jobs/dataset-removal.js';
import { MadeAt } from './location.interceptor.js';

const RegisterDataset = z
  .object({
    /** The manifest that sealing the data set wrote. */
    manifest: z.record(z.string().max(64), z.unknown()).meta({
      description:
        'dataset.json as `veritrain dataset seal` wrote it; attestation/SPEC.md, dataset manifest, says more',
      required: ['id', 'root', 'records', 'features', 'batch', 'superblock', 'shards'],
      properties: {
        id: { type: 'string', pattern: '^0x[0-9a-f]{64}$' },
        root: { type: 'string', pattern: '^0x[0-9a-f]{64}$' },
        records: { type: 'integer' },
        features: { type: 'integer' },
        batch: { type: 'integer' },
        superblock: { type: 'integer' },
        shards: {
          type: 'array',
          items: {
            type: 'object',
            required: ['sha256', 'bytes', 'records'],
            properties: {
              sha256: { type: 'string', pattern: '^0x[0-9a-f]{64}$' },
              bytes: { type: 'integer' },
              records: { type: 'integer' },
            },
          },
        },
      },
    }),
  })
  .meta({ id: 'RegisterDataset' });
const ShardIndex = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,4})$/)
  .transform(Number)
  .pipe(z.int().max(65_535));

@ApiTags('data sets')
@ApiBearerAuth()
@Controller('v1/datasets')
@Essential()
export class DatasetsController {
  constructor(
    private readonly datasets: Datasets,
    private readonly removal: DatasetRemoval,
    private readonly blobs: BlobStore,
  ) {}

  @Post()
  @Allow('client')
  @MadeAt('/v1/datasets')
  @BodyOfAtMost(largeBodyBytesMax)
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 201, standardSchema: DatasetView })
  register(@Caller() caller: Principal, @Body({ schema: RegisterDataset }) body: z.infer<typeof RegisterDataset>) {
    return this.datasets.register(caller, body.manifest);
  }

  /** Data sets of the tenant, without their manifests. */
  @Get()
  @Allow('client', 'admin')
  @ApiResponse({ status: 200, standardSchema: DatasetPage })
  list(
    @Caller() caller: Principal,
    @Query({ schema: PageQuery }) query: z.infer<typeof PageQuery>,
  ): Promise<DatasetPage> {
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, Hex32);
    return this.datasets.list(caller, query.limit, after);
  }

  /** Takes its shards away for good, unless a job that has not ended needs them. */
  @Delete(':id')
  @HttpCode(204)
  @Allow('client', 'admin')
  remove(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<void> {
    return this.removal.remove(caller, id);
  }

  @Get(':id')
  @Allow('client', 'operator', 'admin')
  @ApiResponse({ status: 200, standardSchema: DatasetView })
  get(@Caller() caller: Principal, @Param('id', { schema: Hex32 }) id: string): Promise<DatasetView> {
    return this.datasets.view(caller, id);
  }

  /** One shard's ciphertext. Uploading it again changes nothing, so a broken upload is simply repeated. */
  @Put(':id/shards/:index')
  @HttpCode(204)
  @Allow('client')
  @ApiConsumes('application/octet-stream')
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  async put(
    @Caller() caller: Principal,
    @Param('id', { schema: Hex32 }) id: string,
    @Param('index', { schema: ShardIndex }) index: number,
    @Req() request: Request,
  ): Promise<void> {
    const shard = await this.datasets.shard(caller, id, index);
    const { sha256, bytes } = shard;
    await this.blobs.put(uploadOf(request, shardBytesMax), {
      sha256,
      bytes,
      bytesMax: shardBytesMax,
      code: 'SHARD_DIGEST',
    });
    await this.datasets.markUploaded(shard);
  }

  /** How much of a shard's upload in parts is here. */
  @Get(':id/shards/:index/upload')
  @Allow('client')
  @ApiResponse({ status: 200, standardSchema: UploadView })
  async upload(
    @Caller() caller: Principal,
    @Param('id', { schema: Hex32 }) id: string,
    @Param('index', { schema: ShardIndex }) index: number,
  ): Promise<UploadView> {
    const { sha256, bytes, uploadedAt } = await this.datasets.shard(caller, id, index);
    const offset = uploadedAt === null ? await this.blobs.partBytes(draftOf(caller.tenant, sha256)) : bytes;
    return { offset, bytes, uploaded: uploadedAt !== null };
  }

  /** The next part of a shard's ciphertext, from byte `upload-offset` on; the last one is answered with all of it here. */
  @Patch(':id/shards/:index')
  @Allow('client')
  @ApiConsumes('application/octet-stream')
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  @ApiHeader({ name: 'upload-offset', required: true })
  @ApiResponse({ status: 200, standardSchema: UploadView })
  async putPart(
    @Caller() caller: Principal,
    @Param('id', { schema: Hex32 }) id: string,
    @Param('index', { schema: ShardIndex }) index: number,
    @Headers('upload-offset') uploadOffset: string | undefined,
    @Req() request: Request,
  ): Promise<UploadView> {
    const at = bytesOf('upload-offset', uploadOffset);
    const shard = await this.datasets.shard(caller, id, index);
    const { sha256, bytes } = shard;
    // From the start it may come again, and changes nothing.
    if (shard.uploadedAt !== null && at > 0) throw wrongOffset(bytes, at);
    const upload = { sha256, bytes, bytesMax: bytes, code: 'SHARD_DIGEST' as const };
    const source = uploadOf(request, bytes);
    const offset = await this.blobs.putPart(draftOf(caller.tenant, sha256), at, source, upload);
    if (offset === bytes) await this.datasets.markUploaded(shard);
    return { offset, bytes, uploaded: offset === bytes };
  }

  @Get(':id/shards/:index')
  @Allow('client', 'operator')
  @Header('content-type', 'application/octet-stream')
  @ApiProduces('application/octet-stream')
  async shard(
    @Caller() caller: Principal,
    @Param('id', { schema: Hex32 }) id: string,
    @Param('index', { schema: ShardIndex }) index: number,
  ): Promise<StreamableFile> {
    const shard = await this.datasets.shard(caller, id, index);
    return new StreamableFile(await this.blobs.open(shard.sha256), { length: shard.bytes });
  }
}
