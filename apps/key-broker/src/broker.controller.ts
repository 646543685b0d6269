/** The key broker's routes for hosts of enclaves. */
import { Body, Controller, Get, HttpCode, Inject, Ip, Post } from '@nestjs/common';
import { z } from 'zod';
import { toHex } from '#attestation';
import { attestAvailability, ciphertextBytesMax } from './availability.js';
import type { BrokerConfig } from './config.js';
import type { Appraised } from './judge.js';
import type { NonceBook } from './nonces.js';
import type { Broker } from './release.js';
import { base64, hexText, jobFields, shaped } from './request.js';

export const BROKER = Symbol('broker');
export const NONCES = Symbol('nonces');
export const CONFIG = Symbol('config');
export const SESSIONS = Symbol('sessions');

const ChallengeBody = z.strictObject({ jobId: hexText(32) });
const ReleaseBody = z.strictObject({ ...jobFields, evidence: base64(1024 * 1024) });
const AvailabilityBody = z.strictObject({ terms: jobFields.terms, ciphertext: base64(ciphertextBytesMax) });

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
  challenge(@Body() body: unknown, @Ip() address: string): { nonce: string; expiresAt: number } {
    const { jobId } = shaped(ChallengeBody, body);
    const { nonce, expiresAt } = this.nonces.issue(jobId.slice(2), now(), address);
    return { nonce: hex(nonce), expiresAt };
  }

  @Post('v1/releases')
  @HttpCode(200)
  async release(@Body() body: unknown): Promise<Record<string, unknown>> {
    const released = await this.broker.release(shaped(ReleaseBody, body), now());
    const { release } = released;
    return {
      ...this.#appraised(released),
      sealedKey: Buffer.from(released.sealedKey).toString('base64'),
      release: {
        job: hex(release.job),
        enclaveKey: hex(release.enclaveKey),
        shardsDigest: hex(release.shardsDigest),
      },
      releaseSignature: hex(released.releaseSignature),
    };
  }

  @Post('v1/renewals')
  @HttpCode(200)
  async renew(@Body() body: unknown): Promise<Record<string, unknown>> {
    const renewed = await this.broker.renew(shaped(ReleaseBody, body), now());
    return { ...this.#appraised(renewed), leaseSignature: hex(renewed.leaseSignature) };
  }

  @Post('v1/availability')
  @HttpCode(200)
  async availability(@Body() body: unknown): Promise<{ signature: string; account: string }> {
    const { signature, account } = await attestAvailability(this.config, shaped(AvailabilityBody, body), now());
    return { signature: hex(signature), account: hex(account) };
  }

  #appraised({ lease, appraisal, appraisalSignature, result }: Appraised): Record<string, unknown> {
    return {
      account: hex(this.broker.account),
      lease: { nonce: hex(lease.nonce), grantedAt: lease.grantedAt, notAfter: lease.notAfter },
      appraisal: {
        key: hex(appraisal.key),
        policy: hex(appraisal.policy),
        provider: hex(appraisal.provider),
        evidence: hex(appraisal.evidence),
        notAfter: appraisal.notAfter,
      },
      appraisalSignature: hex(appraisalSignature),
      result: Buffer.from(result.signed).toString('base64'),
    };
  }
}

function hex(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}
