/** Entries come in with their issuer's signature as the only permission; their proofs go out. */
import { Body, Controller, Get, Inject, Param, Post, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { fromHex, Rejection, toBase64, toHex } from '#attestation/base';
import { parseSize } from '#attestation/log';
import type { LogService, Wait } from '#libs/log';
import { LOG } from './parts.js';
import { notFound } from './reads.controller.js';

const waitMs = 10_000;

@Controller('v1')
export class EntriesController {
  constructor(@Inject(LOG) private readonly log: LogService) {}

  @Post('entries')
  async submit(@Body() body: unknown, @Query('wait') wait: unknown, @Res() response: Response): Promise<void> {
    if (!Buffer.isBuffer(body)) throw malformed('an entry as application/cose', 'another body');
    const until = waitOf(wait);
    const taken = await this.log.submit(new Uint8Array(body));
    this.#answer(response, taken.leaf, await this.log.proofWithin(taken, until, waitMs));
  }

  @Get('entries/:leaf')
  async entry(@Param('leaf') text: string, @Res() response: Response): Promise<void> {
    const leaf = leafOf(text);
    const proof = await this.log.proof(leaf, 'integrated');
    if (proof === null && !(await this.log.isKnown(leaf))) throw notFound(`entry ${text}`);
    this.#answer(response, leaf, proof);
  }

  @Get('consistency')
  async consistency(@Query('from') from: string, @Query('to') to: string, @Res() response: Response): Promise<void> {
    const [first, second] = [parseSize(from), parseSize(to)];
    if (first === null || second === null) throw malformed('two sizes', 'something else');
    const path = await this.log.consistency(first, second);
    response.type('text/plain').send(path.map((hash) => `${toBase64(hash)}\n`).join(''));
  }

  #answer(response: Response, leaf: Uint8Array, proof: string | null): void {
    if (proof !== null) return void response.status(200).type('text/plain; charset=utf-8').send(proof);
    response
      .status(202)
      .location(`/v1/entries/${toHex(leaf)}`)
      .end();
  }
}

function waitOf(wait: unknown): Wait {
  if (wait === undefined || wait === 'integrated') return 'integrated';
  if (wait === 'witnessed') return 'witnessed';
  throw malformed('wait=integrated or wait=witnessed', String(wait).slice(0, 40));
}

function leafOf(text: string): Uint8Array {
  if (/^[0-9a-f]{64}$/.test(text)) return fromHex(text);
  throw malformed('a leaf of 64 hexadecimal digits', text.slice(0, 80));
}

function malformed(expected: string, got: string): Rejection {
  return new Rejection('REQUEST_MALFORMED', { expected, got, rule: 'apps/log/README.md' });
}
