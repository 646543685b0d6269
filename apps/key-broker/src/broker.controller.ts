/** The key broker's three routes. */
import { appendFileSync } from 'node:fs';
import { Body, Controller, Get, HttpCode, Inject, Post } from '@nestjs/common';
import { z } from 'zod';
import { CodedError, CollateralError, Rejection, toHex } from '#attestation';
import type { BrokerConfig } from './config.js';
import type { NonceBook } from './nonces.js';
import type { Broker } from './release.js';

export const BROKER = Symbol('broker');
export const NONCES = Symbol('nonces');
export const CONFIG = Symbol('config');

const base64 = (bytesMax: number) =>
  z
    .base64()
    .max(Math.ceil(bytesMax / 3) * 4)
    .transform((text) => new Uint8Array(Buffer.from(text, 'base64')));

const ChallengeBody = z.strictObject({ jobId: z.string().regex(/^0x[0-9a-f]{64}$/) });
const ReleaseBody = z.strictObject({
  spec: base64(64 * 1024),
  terms: base64(4096),
  evidence: base64(1024 * 1024),
});

@Controller()
export class BrokerController {
  constructor(
    @Inject(BROKER) private readonly broker: Broker,
    @Inject(NONCES) private readonly nonces: NonceBook,
    @Inject(CONFIG) private readonly config: BrokerConfig,
  ) {}

  @Get('health/live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Post('v1/challenges')
  challenge(@Body() body: unknown): { nonce: string; expiresAt: number } {
    const { jobId } = shaped(ChallengeBody, body);
    const { nonce, expiresAt } = this.nonces.issue(jobId.slice(2), now());
    return { nonce: hex(nonce), expiresAt };
  }

  @Post('v1/releases')
  @HttpCode(200)
  async release(@Body() body: unknown): Promise<Record<string, unknown>> {
    const request = shaped(ReleaseBody, body);
    try {
      const released = await this.broker.release(request, now());
      const { release, appraisal, result } = released;
      this.journal({ decision: 'released', job: hex(release.job), key: hex(appraisal.key), tier: result.tier });
      return {
        sealedKey: Buffer.from(released.sealedKey).toString('base64'),
        account: hex(this.broker.account),
        release: {
          job: hex(release.job),
          enclaveKey: hex(release.enclaveKey),
          shardsDigest: hex(release.shardsDigest),
        },
        releaseSignature: hex(released.releaseSignature),
        appraisal: {
          key: hex(appraisal.key),
          policy: hex(appraisal.policy),
          provider: hex(appraisal.provider),
          evidence: hex(appraisal.evidence),
          notAfter: appraisal.notAfter,
        },
        appraisalSignature: hex(released.appraisalSignature),
        result: Buffer.from(result.signed).toString('base64'),
      };
    } catch (error) {
      if (error instanceof CodedError) this.journal({ decision: 'refused', ...error.toJSON() });
      throw error;
    }
  }

  /**
   * The owner's own record: what was released to whom and why not; it holds no secret. What cannot be recorded is not
   * released. @throws CollateralError BROKER_JOURNAL
   */
  private journal(entry: Record<string, unknown>): void {
    try {
      appendFileSync(this.config.journal, `${JSON.stringify({ at: now(), ...entry })}\n`, { mode: 0o600 });
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

function shaped<S extends z.ZodType>(schema: S, body: unknown): z.infer<S> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new Rejection('REQUEST_MALFORMED', {
    expected: issue.message,
    got: issue.path.join('.') || 'the body',
    rule: 'key broker API',
    action: 'send the documented fields and nothing else',
  });
}

function hex(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}
