/** The route of provers without a TEE. */
import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { z } from 'zod';
import { CONFIG, NONCES } from './broker.controller.js';
import type { BrokerConfig } from './config.js';
import type { NonceBook } from './nonces.js';
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
  constructor(
    @Inject(NONCES) private readonly nonces: NonceBook,
    @Inject(CONFIG) private readonly config: BrokerConfig,
  ) {}

  @Post('v1/prover-releases')
  @HttpCode(200)
  async release(@Body() body: unknown): Promise<{ sealedKey: string }> {
    const request = shaped(ProverReleaseBody, body);
    const { sealedKey } = await releaseToProver(this.config, this.nonces, request, Math.floor(Date.now() / 1000));
    return { sealedKey: Buffer.from(sealedKey).toString('base64') };
  }
}
