import {
  Controller,
  Get,
  Header,
  Headers,
  HttpCode,
  Inject,
  Param,
  Patch,
  Put,
  Req,
  Res,
  type StreamableFile,
} from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiBody,
  ApiConsumes,
  ApiHeader,
  ApiHeaders,
  ApiProduces,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { DataSource } from 'typeorm';
import { CollateralError } from '#attestation/base';
import { BlobRecord, Checkpoint, Job, Lease, NodeRecord, SegmentProof } from '#libs/persistence';
import { Hex32, limits } from '#libs/wire';
import { Allow, Caller, type Principal } from '../../core/auth/principal.js';
import type { Config } from '../../core/config/config.js';
import { CONFIG } from '../../core/config/tokens.js';
import { BlobStore, oversize } from '../../core/objects/blob-store.js';
import { lockBlob } from '../../core/objects/collector.js';
import { Essential } from '../../core/overload/shedding.js';
import { refusal } from '../../core/problem/codes.js';
import { Clock } from '../../core/timing/clock.js';
import { bytesOf, streamOf, UploadView } from '../../data/parts.js';
import { draftOf, uploadOf } from '../../data/upload.js';

/**
 * Checkpoints and results: ciphertexts that nodes upload and their successors read; and weights that jobs start from, which
 * clients upload and the nodes that hold a lease read.
 */
@ApiTags('blobs')
@ApiBearerAuth()
@Controller('v1/blobs')
@Essential()
export class BlobsController {
  constructor(
    private readonly blobs: BlobStore,
    private readonly database: DataSource,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Put(':sha256')
  @HttpCode(204)
  @Allow('operator', 'client')
  @ApiConsumes('application/octet-stream')
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  async put(
    @Caller() caller: Principal,
    @Param('sha256', { schema: Hex32 }) sha256: string,
    @Req() request: Request,
  ): Promise<void> {
    const bytesMax = limits.blobBytesMax;
    await this.checkQuota(caller, Number(request.header('content-length') ?? bytesMax));
    const bytes = await this.blobs.put(uploadOf(request, bytesMax), { sha256, bytesMax, code: 'BLOB_DIGEST' });
    await this.makeKnown({ sha256, tenant: caller.tenant, bytes, createdAt: this.clock.now() });
  }

  /** How much of an upload in parts is here. */
  @Get(':sha256/upload')
  @Allow('operator')
  @ApiResponse({ status: 200, standardSchema: UploadView })
  async upload(@Caller() caller: Principal, @Param('sha256', { schema: Hex32 }) sha256: string): Promise<UploadView> {
    const known = await this.database.manager.findOneBy(BlobRecord, { sha256, tenant: caller.tenant });
    if (known !== null && (await this.blobs.has(sha256))) {
      return { offset: known.bytes, bytes: known.bytes, uploaded: true };
    }
    const offset = await this.blobs.partBytes(draftOf(caller.tenant, sha256));
    return { offset, bytes: 0, uploaded: false };
  }

  /** The next part of a large ciphertext, from byte `upload-offset` on; the last one is answered with all of it here. */
  @Patch(':sha256')
  @Allow('operator')
  @ApiConsumes('application/octet-stream')
  @ApiBody({ schema: { type: 'string', format: 'binary' } })
  @ApiHeaders([
    { name: 'upload-offset', required: true },
    { name: 'upload-length', required: true },
  ])
  @ApiResponse({ status: 200, standardSchema: UploadView })
  async putPart(
    @Caller() caller: Principal,
    @Param('sha256', { schema: Hex32 }) sha256: string,
    @Headers('upload-offset') uploadOffset: string | undefined,
    @Headers('upload-length') uploadLength: string | undefined,
    @Req() request: Request,
  ): Promise<UploadView> {
    const at = bytesOf('upload-offset', uploadOffset);
    const bytes = bytesOf('upload-length', uploadLength);
    if (bytes > limits.largeBlobBytesMax) throw oversize(limits.largeBlobBytesMax);
    await this.checkQuota(caller, bytes);
    const upload = { sha256, bytes, bytesMax: bytes, code: 'BLOB_DIGEST' as const };
    const offset = await this.blobs.putPart(draftOf(caller.tenant, sha256), at, uploadOf(request, bytes), upload);
    const uploaded = offset === bytes;
    if (uploaded) await this.makeKnown({ sha256, tenant: caller.tenant, bytes, createdAt: this.clock.now() });
    return { offset, bytes, uploaded };
  }

  @Get(':sha256')
  @Allow('operator')
  @Header('content-type', 'application/octet-stream')
  @ApiProduces('application/octet-stream')
  @ApiHeader({ name: 'range', required: false })
  async get(
    @Caller() caller: Principal,
    @Param('sha256', { schema: Hex32 }) sha256: string,
    @Headers('range') range: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StreamableFile> {
    if (!(await this.mayRead(caller, sha256))) {
      throw refusal('BLOB_UNKNOWN', {
        expected: 'a blob that this key uploaded, or a checkpoint or start weights of a job that it holds a lease on',
        got: sha256,
        rule: 'apps/control-plane/README.md, blobs',
      });
    }
    return streamOf(this.blobs, sha256, range, response);
  }

  /** The collector may have taken an old copy of it in the meantime. @throws CollateralError BLOB_COLLECTED */
  private makeKnown(row: BlobRecord): Promise<void> {
    return this.database.transaction(async (manager) => {
      await lockBlob(manager, row.sha256);
      if (!(await this.blobs.has(row.sha256))) throw collected(row.sha256);
      await manager.upsert(BlobRecord, row, ['sha256', 'tenant']);
    });
  }

  /** @throws Rejection BLOB_QUOTA */
  private async checkQuota({ tenant }: Principal, bytes: number): Promise<void> {
    const used = (await this.database.manager.sum(BlobRecord, 'bytes', { tenant })) ?? 0;
    const max = this.config.operatorBlobBytesMax;
    if (Number(used) + bytes <= max) return;
    throw refusal('BLOB_QUOTA', {
      expected: `at most ${max} stored bytes of one tenant`,
      got: `${used} bytes, and ${bytes} more`,
      rule: 'apps/control-plane/README.md, limits',
      action: 'Ask the operator of the control plane for more room.',
    });
  }

  private async mayRead(caller: Principal, sha256: string): Promise<boolean> {
    const { manager } = this.database;
    if (await manager.existsBy(BlobRecord, { sha256, tenant: caller.tenant })) return true;
    const isLeased = await manager
      .createQueryBuilder(Checkpoint, 'c')
      .innerJoin(Lease, 'l', `l.job_id = c.job_id AND l.state = 'active'`)
      .where('c.blob = :sha256 AND l.tenant = :tenant', { sha256, tenant: caller.tenant })
      .getExists();
    if (isLeased || (await this.startsLeased(caller, sha256)) || (await this.provesOwn(caller, sha256))) return true;
    return manager
      .createQueryBuilder(Checkpoint, 'c')
      .innerJoin(SegmentProof, 'p', 'p.job_id = c.job_id AND p.proved_at IS NULL')
      .innerJoin(NodeRecord, 'n', 'n.id = p.node_id')
      .where('c.blob = :sha256 AND n.tenant = :tenant', { sha256, tenant: caller.tenant })
      .getExists();
  }

  /** Whether it proves a segment of a job whose provider the caller's nodes work for: the stake for it is theirs. */
  private provesOwn({ tenant }: Principal, sha256: string): Promise<boolean> {
    return this.database.manager
      .createQueryBuilder(SegmentProof, 'p')
      .innerJoin(Job, 'j', 'j.id = p.job_id')
      .innerJoin(NodeRecord, 'n', 'n.provider = j.provider')
      .where('p.blob = :sha256 AND p.proved_at IS NOT NULL AND n.tenant = :tenant', { sha256, tenant })
      .getExists();
  }

  /** Whether a job that the caller holds a lease on starts from it. */
  private startsLeased({ tenant }: Principal, sha256: string): Promise<boolean> {
    return this.database.manager
      .createQueryBuilder(Job, 'j')
      .innerJoin(Lease, 'l', `l.job_id = j.id AND l.state = 'active'`)
      .where('j.start_blobs IS NOT NULL AND :sha256 = ANY(j.start_blobs) AND l.tenant = :tenant', { sha256, tenant })
      .getExists();
  }
}

function collected(sha256: string): CollateralError {
  return new CollateralError('BLOB_COLLECTED', {
    expected: 'the ciphertext to be there after its upload',
    got: `${sha256}, removed as an old one that nothing named`,
    rule: 'apps/control-plane/README.md, blobs',
    action: 'Upload it again.',
  });
}
