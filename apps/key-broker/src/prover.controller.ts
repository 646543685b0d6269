/** The route of provers without a TEE. */
import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { z } from 'zod';
import { toHex } from '#attestation';
import { brokerAccount } from './authorise.js';
import { CONFIG, NONCES, SESSIONS } from './broker.controller.js';
import type { BrokerConfig } from './config.js';
import type { NonceBook } from './nonces.js';
import { releaseToProver } from './prover-release.js';
import { hexBytes, jobFields, shaped } from './request.js';
import type { SessionBook } from './sessions.js';

const ProverReleaseBody = z.strictObject({
  ...jobFields,
  nonce: hexBytes(32),
  transportKey: hexBytes(32),
  signature: hexBytes(65),
});

@Controller()
export class ProverController {
  constructor(
    @Inject(NONCES) readonly nonces: NonceBook,
    @Inject(CONFIG) readonly config: BrokerConfig,
    @Inject(SESSIONS) readonly sessions: SessionBook,
  ) {}

  @Post('v1/prover-releases')
  @HttpCode(200)
  async release(@Body() body: unknown): Promise<object> {
    const request = shaped(ProverReleaseBody, body);
    const at = Math.floor(Date.now() / 1000);
    const { sealedKey, release, releaseSignature } = await releaseToProver(this, request, at);
    const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;
    const { job, enclaveKey, shardsDigest } = release;
    return {
      sealedKey: Buffer.from(sealedKey).toString('base64'),
      account: hex(brokerAccount(this.config)),
      release: { job: hex(job), enclaveKey: hex(enclaveKey), shardsDigest: hex(shardsDigest) },
      releaseSignature: hex(releaseSignature),
    };
  }
}
