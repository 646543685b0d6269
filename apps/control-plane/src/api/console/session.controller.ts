/** Signing in to the console and out of it. */
import { Body, Controller, Delete, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { addressOf } from '../../core/auth/address.js';
import { checkOwnOrigin, checkSecure } from '../../core/auth/own-origin.js';
import { Public } from '../../core/auth/principal.js';
import { RateLimit } from '../../core/auth/rate-limit.js';
import { rateLimited } from '../../core/auth/rate.guard.js';
import { cookieName, cookieOf, lifeSeconds, Sessions } from '../../core/auth/sessions.js';
import { BodyOfAtMost } from '../../core/overload/body.guard.js';
import { Essential } from '../../core/overload/shedding.js';
import { Clock } from '../../core/timing/clock.js';

const SignIn = z.object({ key: z.string().max(256) });
const signInBytesMax = 1024;
/** Attempts to sign in, of one address and with one key id. */
const attemptsPerMinute = 30;

const attributes = 'Path=/; Secure; HttpOnly; SameSite=Strict';

@ApiExcludeController()
@Controller('console/session')
@Public()
@Essential()
export class SessionController {
  readonly #attempts = new RateLimit();

  constructor(
    private readonly sessions: Sessions,
    private readonly clock: Clock,
  ) {}

  @Post()
  @HttpCode(204)
  @BodyOfAtMost(signInBytesMax)
  async open(
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
    @Body({ schema: SignIn }) { key }: z.infer<typeof SignIn>,
  ): Promise<void> {
    checkOwnOrigin(request);
    checkSecure(request);
    this.take('address', addressOf(request), response);
    this.take('key', key.split('_')[1] ?? '', response);
    const { cookie } = await this.sessions.open(key, cookieOf(request.headers));
    response.setHeader('set-cookie', `${cookieName}=${cookie}; ${attributes}; Max-Age=${lifeSeconds}`);
  }

  /** Without a session it changes nothing. */
  @Delete()
  @HttpCode(204)
  async close(@Req() request: Request, @Res({ passthrough: true }) response: Response): Promise<void> {
    checkOwnOrigin(request);
    const cookie = cookieOf(request.headers);
    if (cookie !== undefined) await this.sessions.close(cookie);
    response.setHeader('set-cookie', `${cookieName}=; ${attributes}; Max-Age=0`);
  }

  private take(name: 'address' | 'key', subject: string, response: Response): void {
    const wait = this.#attempts.take(`${name} ${subject}`, attemptsPerMinute, this.clock.monotonic());
    if (wait === 0) return;
    response.setHeader('retry-after', String(wait));
    throw rateLimited(name, attemptsPerMinute, wait);
  }
}
