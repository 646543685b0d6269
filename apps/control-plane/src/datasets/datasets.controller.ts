import { Body, Controller, Get, Header, HttpCode, Param, Post, Put, Req, StreamableFile } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiConsumes, ApiHeader, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { z } from 'zod';
import { shardBytesMax } from '#attestation';
import { Hex32 } from '#libs/messaging';
import { Allow, Caller, type Principal } from '../auth/principal.js';
import { BlobStore } from './blob-store.js';
import { Datasets, DatasetView } from './datasets.service.js';
import { uploadOf } from './upload.js';

const RegisterDataset = z
  .object({
    /** The manifest that sealing the data set wrote. */
    manifest: z.record(z.string().max(64), z.unknown()),
  })
  .meta({ id: 'RegisterDataset' });
const ShardIndex = z.coerce.number().int().min(0).max(65_535);

@ApiTags('data sets')
@ApiBearerAuth()
@Controller('v1/datasets')
export class DatasetsController {
  constructor(
    private readonly datasets: Datasets,
    private readonly blobs: BlobStore,
  ) {}

  @Post()
  @Allow('client')
  @ApiHeader({ name: 'idempotency-key', required: true })
  @ApiResponse({ status: 201, standardSchema: DatasetView })
  register(@Caller() caller: Principal, @Body({ schema: RegisterDataset }) body: z.infer<typeof RegisterDataset>) {
    return this.datasets.register(caller, body.manifest);
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
