/** Requests per minute to one route: by address before anybody is authenticated, then by the key that was accepted. */
import { Injectable, type ExecutionContext } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import { carrierOf } from './principal.js';

export const addressLimit = 'address';
export const keyLimit = 'default';

/** A GraphQL operation over WebSocket has an address but no response to set headers on. */
const noResponse = { header: () => undefined };

/** Dispatch has its own bounds: one connection, long polls. */
abstract class RateGuard extends ThrottlerGuard {
  protected abstract readonly limitName: string;
  protected abstract subjectOf(context: ExecutionContext): string | undefined;

  override async onModuleInit(): Promise<void> {
    await super.onModuleInit();
    this.throttlers = this.throttlers.filter(({ name }) => name === this.limitName);
  }

  protected override shouldSkip(context: ExecutionContext): Promise<boolean> {
    return Promise.resolve(context.getType() === 'rpc' || this.subjectOf(context) === undefined);
  }

  protected override getRequestResponse(context: ExecutionContext): { req: Request; res: Response } {
    if (context.getType<'http' | 'graphql'>() === 'http') {
      const http = context.switchToHttp();
      return { req: http.getRequest<Request>(), res: http.getResponse<Response>() };
    }
    const { req } = context.getArgByIndex<{ req: Request }>(2);
    return { req, res: req.res ?? (noResponse as unknown as Response) };
  }

  /** Under the name `default`, so that the header is `Retry-After` for either limit. */
  protected override handleRequest(request: ThrottlerRequest): Promise<boolean> {
    const getTracker = () => Promise.resolve(this.subjectOf(request.context)!);
    return super.handleRequest({ ...request, getTracker, throttler: { ...request.throttler, name: keyLimit } });
  }
}

@Injectable()
export class AddressRateGuard extends RateGuard {
  protected readonly limitName = addressLimit;

  protected subjectOf(context: ExecutionContext): string {
    return this.getRequestResponse(context).req.ip ?? '';
  }
}

@Injectable()
export class KeyRateGuard extends RateGuard {
  protected readonly limitName = keyLimit;

  protected subjectOf(context: ExecutionContext): string | undefined {
    return carrierOf(context).principal?.keyId;
  }
}
