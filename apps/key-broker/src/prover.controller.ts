/** The route of provers without a TEE. */
import { appendFileSync } from 'node:fs';
import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { z } from 'zod';
import { CodedError, CollateralError, fromHex, Rejection, toHex } from '#attestation';
import { CONFIG, NONCES } from './broker.controller.js';
import type { BrokerConfig } from './config.js';
import type { NonceBook } from './nonces.js';
import { releaseToProver } from './prover-release.js';

const base64 = (bytesMax: number) =>
  z
    .base64()
    .max(Math.ceil(bytesMax / 3) * 4)
    .transform((text) => new Uint8Array(Buffer.from(text, 'base64')));
const hex = (size: number) =>
  z
    .string()
    .regex(new RegExp(`^0x[0-9a-f]{${2 * size}}$`))
    .transform(fromHex);

const ProverReleaseBody = z.strictObject({
  spec: base64(64 * 1024),
  terms: base64(4096),
  nonce: hex(32),
  transportKey: hex(32),
  signature: hex(65),
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
    const parsed = ProverReleaseBody.safeParse(body);
    if (!parsed.success) {
      const { message, path } = parsed.error.issues[0]!;
      throw new Rejection('REQUEST_MALFORMED', {
        ...{ expected: message, got: path.join('.') || 'the body', rule: 'key broker API' },
        action: 'send the documented fields and nothing else',
      });
    }
    const at = Math.floor(Date.now() / 1000);
    try {
      const { sealedKey, account, jobId } = await releaseToProver(this.config, this.nonces, parsed.data, at);
      this.journal({ at, decision: 'released', job: `0x${toHex(jobId)}`, prover: `0x${toHex(account)}` });
      return { sealedKey: Buffer.from(sealedKey).toString('base64') };
    } catch (error) {
      if (error instanceof CodedError) this.journal({ at, decision: 'refused', ...error.toJSON() });
      throw error;
    }
  }

  /** What cannot be recorded is not released. @throws CollateralError BROKER_JOURNAL */
  private journal(entry: Record<string, unknown>): void {
    try {
      appendFileSync(this.config.journal, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    } catch (error) {
      throw new CollateralError('BROKER_JOURNAL', {
        expected: 'a journal that can be written',
        got: (error as NodeJS.ErrnoException).code ?? 'an error',
        rule: 'key broker settings',
        action: 'the data owner must make room for the journal; then ask again',
      });
    }
  }
}
