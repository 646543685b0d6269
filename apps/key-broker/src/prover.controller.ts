/** The route of provers without a TEE. */
import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { z } from 'zod';
import { base64, hex, now, statement } from './answers.js';
import { accountOf } from './authorise.js';
import type { BrokerConfig } from './config.js';
import { PARTS, type Parts } from './parts.js';
import { releaseToProver } from './prover-release.js';
import { hexBytes, jobFields, shaped } from './request.js';

const ProverReleaseBody = z.strictObject({
  ...jobFields,
  nonce: hexBytes(32),
  transportKey: hexBytes(32),
  signature: hexBytes(65),
});

@Controller()
export class ProverController {
  constructor(@Inject(PARTS) private readonly parts: Parts & { readonly config: BrokerConfig }) {}

  @Post('v1/prover-releases')
  @HttpCode(200)
  async release(@Body() body: unknown): Promise<object> {
    const request = shaped(ProverReleaseBody, body);
    const { sealedKey, release, releaseSignature } = await this.parts.observer.decided(
      'prover-release',
      () => releaseToProver(this.parts, request, now()),
      ({ release: { job, provider, notAfter } }) => ({ job: hex(job), provider: hex(provider), notAfter }),
    );
    const signed = { release: statement(release), releaseSignature: hex(releaseSignature) };
    return { account: hex(accountOf(this.parts.config)), sealedKey: base64(sealedKey), ...signed };
  }
}
