/** Signing in to the console with an API key, and out of it. */
import { Body, Controller, Delete, Get, Header, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { addressOf } from '../../core/auth/address.js';
import { IdentityProvider } from '../../core/auth/identity-provider.js';
import { checkOwnOrigin, checkSecure } from '../../core/auth/own-origin.js';
import { Public } from '../../core/auth/principal.js';
import { cookieOf, forgetting, sessionCookie, Sessions } from '../../core/auth/sessions.js';
import { BodyOfAtMost } from '../../core/overload/body.guard.js';
import { Essential } from '../../core/overload/shedding.js';
import { Attempts } from './attempts.js';

const SignIn = z.object({ key: z.string().max(256) });
const signInBytesMax = 1024;

@ApiExcludeController()
@Controller('console/session')
@Public()
@Essential()
export class SessionController {
  constructor(
    private readonly sessions: Sessions,
    private readonly provider: IdentityProvider,
    private readonly attempts: Attempts,
  ) {}

  /**
   * How one may sign in here: with a key, and by this identity provider where there is one. Who has no cookie need not be
   * refused to learn it, and stands in no audit log.
   */
  @Get()
  @Header('cache-control', 'no-store')
  ways(@Req() request: Request): { readonly provider: string | null; readonly hasCookie: boolean } {
    return { provider: this.provider.name, hasCookie: cookieOf(request.headers) !== undefined };
  }

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
    this.attempts.take('address', addressOf(request), response);
    this.attempts.take('key', key.split('_')[1] ?? '', response);
    const { cookie } = await this.sessions.open(key, cookieOf(request.headers));
    response.setHeader('set-cookie', sessionCookie(cookie));
  }

  /** Without a session it changes nothing. */
  @Delete()
  @HttpCode(204)
  async close(@Req() request: Request, @Res({ passthrough: true }) response: Response): Promise<void> {
    checkOwnOrigin(request);
    const cookie = cookieOf(request.headers);
    if (cookie !== undefined) await this.sessions.close(cookie);
    response.setHeader('set-cookie', forgetting());
  }
}
