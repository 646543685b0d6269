/** Signing in to the console by the identity provider: away from here, and back. */
import { randomBytes } from 'node:crypto';
import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { addressOf } from '../../core/auth/address.js';
import { Denials } from '../../core/auth/denials.js';
import { callbackPath, IdentityProvider } from '../../core/auth/identity-provider.js';
import { checkOwnOrigin, checkSecure } from '../../core/auth/own-origin.js';
import { People } from '../../core/auth/people.js';
import { Public } from '../../core/auth/principal.js';
import { cookieOf, sessionCookie, Sessions } from '../../core/auth/sessions.js';
import { Essential } from '../../core/overload/shedding.js';
import { refusal } from '../../core/problem/codes.js';
import { explain } from '../../core/problem/explain.js';
import { Clock } from '../../core/timing/clock.js';
import { Attempts } from './attempts.js';

/** Sent along from elsewhere, for the provider sends people back; it is good for nothing but that. */
const attemptCookie = '__Host-vt-attempt';
const attributes = 'Path=/; Secure; HttpOnly; SameSite=Lax';
const attemptSeconds = 600;
const attemptShape = /^([0-9]{10})\.[A-Za-z0-9_-]{43}$/;

@ApiExcludeController()
@Controller()
@Public()
@Essential()
export class OidcController {
  constructor(
    private readonly provider: IdentityProvider,
    private readonly people: People,
    private readonly sessions: Sessions,
    private readonly attempts: Attempts,
    private readonly denials: Denials,
    private readonly clock: Clock,
  ) {}

  /** Where the page goes next. Whoever signs in again has no other session from then on. */
  @Post('console/session/oidc')
  @HttpCode(200)
  async begin(
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<{ readonly location: string }> {
    checkOwnOrigin(request);
    checkSecure(request);
    this.attempts.take('address', addressOf(request), response);
    const attempt = `${this.seconds()}.${randomBytes(32).toString('base64url')}`;
    const address = await this.provider.addressFor(attempt);
    const earlier = cookieOf(request.headers);
    if (earlier !== undefined) await this.sessions.close(earlier);
    response.setHeader('set-cookie', `${attemptCookie}=${attempt}; ${attributes}; Max-Age=${attemptSeconds}`);
    return { location: address.href };
  }

  /** A person looks at this answer, so a refusal leads to the page that says it. */
  @Get(callbackPath.slice(1))
  async end(@Req() request: Request, @Res() response: Response): Promise<void> {
    response.setHeader('cache-control', 'no-store');
    response.setHeader('referrer-policy', 'no-referrer');
    const over = `${attemptCookie}=; ${attributes}; Max-Age=0`;
    try {
      this.attempts.take('address', addressOf(request), response);
      const attempt = this.attemptOf(cookieOf(request.headers, attemptCookie));
      const query = new URL(request.originalUrl, 'https://console.invalid').searchParams;
      const person = await this.people.admit(await this.provider.claimsOf(query, attempt));
      const { cookie } = await this.sessions.openFor(person, cookieOf(request.headers));
      response.setHeader('set-cookie', [over, sessionCookie(cookie)]);
      response.redirect(303, '/console');
    } catch (thrown) {
      const { code } = explain(thrown);
      this.denials.note(code, { place: `GET ${callbackPath}`, address: addressOf(request) });
      response.setHeader('set-cookie', over);
      response.redirect(303, `/console?refused=${encodeURIComponent(code)}`);
    }
  }

  /** @throws Rejection OIDC_STATE */
  private attemptOf(cookie: string | undefined): string {
    const [attempt, begun] = attemptShape.exec(cookie ?? '') ?? [];
    if (attempt !== undefined && this.seconds() - Number(begun) <= attemptSeconds) return attempt;
    throw refusal('OIDC_STATE', {
      expected: `the attempt that this browser began in the last ${attemptSeconds / 60} minutes`,
      got: attempt === undefined ? 'none' : 'an older one',
      rule: 'apps/control-plane/README.md, console',
      action: 'Sign in again.',
    });
  }

  private seconds(): number {
    return Math.floor(this.clock.now().getTime() / 1000);
  }
}
