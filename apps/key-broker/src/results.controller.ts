/** Encrypted results: their hosts bring them in pieces, and anyone may fetch them. */
import { Body, Controller, Get, HttpCode, Inject, Param, Post, Put, Res } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import { Rejection, to0x } from '#attestation/base';
import { chunksMax } from '#attestation/records';
import { now } from './answers.js';
import { PARTS, type Parts } from './parts.js';
import { hexText, jobFields, shaped } from './request.js';
import type { StoredDelivery } from './result-store.js';

const JobParameter = z.strictObject({ job: hexText(32) });
const ChunkParameter = JobParameter.extend({
  index: z
    .string()
    .regex(/^(0|[1-9][0-9]{0,2})$/)
    .transform(Number),
});
const DeliveryBody = z.strictObject({
  terms: jobFields.terms,
  length: z.int().min(1),
  hashes: z.array(hexText(32)).min(1).max(chunksMax),
  keyCommit: hexText(32),
});
const AvailabilityBody = z.strictObject({ terms: jobFields.terms });

@Controller('v1')
export class ResultsController {
  constructor(@Inject(PARTS) private readonly parts: Parts) {}

  @Put('results/:job')
  async offer(@Param() parameters: unknown, @Body() body: unknown): Promise<object> {
    const { job } = shaped(JobParameter, parameters);
    return this.#shown(await this.parts.results.offer({ job, ...shaped(DeliveryBody, body) }, now()));
  }

  @Put('results/:job/:index')
  take(@Param() parameters: unknown, @Body() body: unknown): object {
    const { job, index } = shaped(ChunkParameter, parameters);
    if (!(body instanceof Uint8Array)) throw noChunk();
    return this.#shown(this.parts.results.take(job, index, body));
  }

  @Get('results/:job')
  show(@Param() parameters: unknown): object {
    return this.#shown(this.parts.results.find(shaped(JobParameter, parameters).job));
  }

  @Get('results/:job/:index')
  fetch(@Param() parameters: unknown, @Res() response: Response): void {
    const { job, index } = shaped(ChunkParameter, parameters);
    const file = this.parts.results.fileOf(job, index);
    const headers = { 'content-type': 'application/octet-stream', 'content-disposition': 'attachment' };
    response.sendFile(file, { headers, cacheControl: false, dotfiles: 'allow' });
  }

  @Post('availability')
  @HttpCode(200)
  async availability(@Body() body: unknown): Promise<object> {
    const { terms } = shaped(AvailabilityBody, body);
    const { signature, account, ciphertextDigest, until } = await this.parts.observer.decided(
      'availability',
      () => this.parts.results.attest(terms, now()),
      (given) => ({ ciphertextDigest: given.ciphertextDigest, until: given.until }),
    );
    return { account: to0x(account), signature: to0x(signature), ciphertextDigest, until };
  }

  #shown(delivery: StoredDelivery): object {
    const { job, length, hashes, keyCommit, ciphertextDigest, until } = delivery;
    return { job, length, hashes, keyCommit, ciphertextDigest, until, missing: this.parts.results.missing(delivery) };
  }
}

function noChunk(): Rejection {
  return new Rejection('REQUEST_MALFORMED', {
    expected: 'the bytes of a chunk as application/octet-stream',
    got: 'none',
    rule: 'key broker API, results',
  });
}
