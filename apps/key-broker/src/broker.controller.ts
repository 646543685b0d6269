/** The key broker's routes for hosts of enclaves. */
import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { to0x, toBase64 } from '#attestation/base';
import { now, statement, verdict } from './answers.js';
import { BROKER, PARTS, type Parts } from './parts.js';
import { loggedJson } from './release-log.js';
import type { Broker } from './release.js';
import { EvidenceBody, shaped } from './request.js';

@Controller()
export class BrokerController {
  constructor(
    @Inject(BROKER) private readonly broker: Broker,
    @Inject(PARTS) private readonly parts: Parts,
  ) {}

  @Post('v1/releases')
  @HttpCode(200)
  async release(@Body() body: unknown): Promise<object> {
    const request = shaped(EvidenceBody, body);
    const { release, releaseSignature, sealedKey, result, logged } = await this.parts.observer.decided(
      'release',
      () => this.broker.release(request, now()),
      ({ release: { job, session, provider, notAfter }, result: { tier } }) => {
        return { job: to0x(job), session: to0x(session), provider: to0x(provider), notAfter, tier };
      },
    );
    const signed = { release: statement(release), releaseSignature: to0x(releaseSignature) };
    const shown = { ...verdict(result), ...(logged && { logged: loggedJson(logged) }) };
    return { account: to0x(this.broker.account), sealedKey: toBase64(sealedKey), ...signed, ...shown };
  }

  @Post('v1/renewals')
  @HttpCode(200)
  async renew(@Body() body: unknown): Promise<object> {
    const request = shaped(EvidenceBody, body);
    const { lease, leaseSignature, result } = await this.parts.observer.decided(
      'renewal',
      () => this.broker.renew(request, now()),
      ({ lease: { job, session, notAfter }, result: { tier } }) => {
        return { job: to0x(job), session: to0x(session), notAfter, tier };
      },
    );
    const signed = { lease: statement(lease), leaseSignature: to0x(leaseSignature) };
    return { account: to0x(this.broker.account), ...signed, ...verdict(result) };
  }
}
