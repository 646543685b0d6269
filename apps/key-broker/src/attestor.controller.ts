/** The one route that only an attestor has. */
import { Body, Controller, HttpCode, Inject, Post } from '@nestjs/common';
import { to0x } from '#attestation/base';
import { now, statement, verdict } from './answers.js';
import type { Attestor } from './attestor.js';
import { ATTESTOR, PARTS, type Parts } from './parts.js';
import { EvidenceBody, shaped } from './request.js';

@Controller()
export class AttestorController {
  constructor(
    @Inject(ATTESTOR) private readonly attestor: Attestor,
    @Inject(PARTS) private readonly parts: Parts,
  ) {}

  @Post('v1/appraisals')
  @HttpCode(200)
  async appraise(@Body() body: unknown): Promise<object> {
    const request = shaped(EvidenceBody, body);
    const { appraisal, appraisalSignature, result } = await this.parts.observer.decided(
      'appraisal',
      () => this.attestor.appraise(request, now()),
      ({ appraisal: { job, session, provider, notAfter }, result: { tier } }) => {
        return { job: to0x(job), session: to0x(session), provider: to0x(provider), notAfter, tier };
      },
    );
    const signed = { appraisal: statement(appraisal), appraisalSignature: to0x(appraisalSignature) };
    return { account: to0x(this.attestor.account), ...signed, ...verdict(result) };
  }
}
