/** Requests per minute, counted by address and API key id. Dispatch has its own bounds: one connection, long polls. */
import { Injectable, type ExecutionContext } from '@nestjs/common';
import { ThrottlerGuard } from '@nestjs/throttler';
import type { Request, Response } from 'express';

@Injectable()
export class RateGuard extends ThrottlerGuard {
  protected override shouldSkip(context: ExecutionContext): Promise<boolean> {
    const type = context.getType<'http' | 'rpc' | 'graphql'>();
    const hasResponse =
      type === 'graphql' && context.getArgByIndex<{ req?: { res?: unknown } }>(2).req?.res !== undefined;
    return Promise.resolve(type !== 'http' && !hasResponse);
  }

  protected override getRequestResponse(context: ExecutionContext): { req: Request; res: Response } {
    if (context.getType<'http' | 'graphql'>() === 'http') {
      const http = context.switchToHttp();
      return { req: http.getRequest<Request>(), res: http.getResponse<Response>() };
    }
    const { req } = context.getArgByIndex<{ req: Request }>(2);
    return { req, res: req.res! };
  }

  protected override getTracker(request: Request): Promise<string> {
    const keyId = /^Bearer vt_([A-Za-z0-9]{4,32})_/i.exec(request.header('authorization') ?? '')?.[1] ?? '';
    return Promise.resolve(`${request.ip ?? ''} ${keyId}`);
  }
}
