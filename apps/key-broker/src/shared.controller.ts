/** Routes that key broker and attestor both have: challenges, revocations, and what an operator looks at. */
import { Body, Controller, Get, Header, Inject, Param, Post } from '@nestjs/common';
import { z } from 'zod';
import { CollateralError, fromHex, to0x } from '#attestation/base';
import { now } from './answers.js';
import { accountOf } from './authorise.js';
import { termsOfNobody } from './escrow.js';
import { PARTS, type Parts } from './parts.js';
import { sharedReadiness } from './readiness.js';
import { hexText, shaped } from './request.js';

const ChallengeBody = z.strictObject({ jobId: hexText(32) });
const JobParameter = z.strictObject({ job: hexText(32) });

@Controller()
export class SharedController {
  readonly #ready: () => Promise<void>;

  constructor(@Inject(PARTS) private readonly parts: Parts) {
    this.#ready = sharedReadiness(() => checkReady(parts));
  }

  @Get('health/live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('health/ready')
  async ready(): Promise<{ status: 'ok' }> {
    await this.#ready();
    return { status: 'ok' };
  }

  @Get('metrics')
  @Header('content-type', 'text/plain; version=0.0.4')
  metrics(): Promise<string> {
    return this.parts.metrics.registry.metrics();
  }

  @Post('v1/challenges')
  challenge(@Body() body: unknown): { nonce: string; expiresAt: number } {
    const { jobId } = shaped(ChallengeBody, body);
    const { nonce, expiresAt } = this.parts.nonces.issue(fromHex(jobId), now());
    return { nonce: to0x(nonce), expiresAt };
  }

  /** What ended sessions of this escrow; anyone may send it to the chain. */
  @Get('v1/revocations/:job')
  revocations(@Param() parameters: unknown): object {
    const { job } = shaped(JobParameter, parameters);
    const { config, journal } = this.parts;
    return { account: to0x(accountOf(config)), revocations: journal.sessions.revocationsOf(job) };
  }
}

/** The journal takes lines, the settings can be read, the chain answers. */
async function checkReady({ config, journal, heads, logger }: Parts): Promise<void> {
  try {
    journal.check();
    heads.check();
    config.collateral();
    await config.restrictions?.();
    await config.escrow.stateOf(termsOfNobody);
  } catch (error) {
    if (error instanceof CollateralError) throw error;
    logger.error('not ready', { why: error instanceof Error ? error.message : 'an error' });
    throw new CollateralError('BROKER_NOT_READY', {
      expected: 'settings that can be read',
      got: 'others; the log says which',
      rule: 'key broker settings',
    });
  }
}
