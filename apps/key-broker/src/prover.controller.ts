/** The route of provers without a TEE. */
import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { z } from 'zod';
import { to0x, toBase64 } from '#attestation/base';
import { now, statement } from './answers.js';
import { accountOf } from './authorise.js';
import type { BrokerConfig } from './config.js';
import { PARTS, type Parts } from './parts.js';
import { releaseToProver } from './prover-release.js';
import { loggedJson } from './release-log.js';
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
    const { sealedKey, release, releaseSignature, logged } = await this.parts.observer.decided(
      'prover-release',
      () => releaseToProver(this.parts, request, now()),
      ({ release: { job, provider, notAfter } }) => ({ job: to0x(job), provider: to0x(provider), notAfter }),
    );
    const signed = { release: statement(release), releaseSignature: to0x(releaseSignature) };
    const shown = { ...signed, ...(logged && { logged: loggedJson(logged) }) };
    return { account: to0x(accountOf(this.parts.config)), sealedKey: toBase64(sealedKey), ...shown };
  }
}
