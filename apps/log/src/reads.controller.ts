/** What everybody may read, exactly as in tlog-tiles: no key is needed, and all but the checkpoint never changes. */
import { gzipSync } from 'node:zlib';
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Rejection } from '#attestation/base';
import { tilePattern, type LogService, type LogStore } from '#libs/log';
import { LOG, STORE } from './parts.js';

@Controller()
export class ReadsController {
  constructor(
    @Inject(LOG) private readonly log: LogService,
    @Inject(STORE) private readonly store: LogStore,
  ) {}

  @Get('checkpoint')
  async checkpoint(@Res() response: Response): Promise<void> {
    response.setHeader('cache-control', 'no-cache');
    response.type('text/plain; charset=utf-8').send(await this.log.checkpoint());
  }

  @Get('tile/*path')
  async tile(@Req() request: Request, @Res() response: Response): Promise<void> {
    const path = request.path.slice(1);
    const bytes = tilePattern.test(path) ? await this.store.read(path) : null;
    if (bytes === null) throw notFound(path);
    response.setHeader('cache-control', 'public, max-age=31536000, immutable');
    response.type('application/octet-stream');
    const isPacked = path.startsWith('tile/entries/') && request.acceptsEncodings('gzip') === 'gzip';
    if (isPacked) response.setHeader('content-encoding', 'gzip');
    response.send(isPacked ? gzipSync(bytes) : Buffer.from(bytes));
  }

  @Get('health/live')
  live(@Res() response: Response): void {
    response.json({ status: 'ok' });
  }

  /** What stopped the log is told also while its database is away. */
  @Get('health/ready')
  async ready(@Res() response: Response): Promise<void> {
    const hasAnswered = await this.log.checkpoint().then(
      () => true,
      () => false,
    );
    const status = this.log.stopped?.code ?? (hasAnswered ? 'ok' : 'LOG_DATABASE');
    response.status(status === 'ok' ? 200 : 503).json({ status });
  }
}

export function notFound(what: string): Rejection {
  return new Rejection('LOG_NOT_FOUND', {
    expected: 'something that this log has',
    got: what.slice(0, 120),
    rule: 'C2SP tlog-tiles',
  });
}
