/** Reads a POST's body when everything that speaks against the request without it was looked at. */
import { Injectable, SetMetadata, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Bodies, type BodyRequest } from './body.js';
import { smallBodyBytesMax } from './limits.js';

const BODY_BYTES_MAX = 'veritrain:body-bytes-max';
/** For the few routes whose body may be large. */
export const BodyOfAtMost = (bytesMax: number) => SetMetadata(BODY_BYTES_MAX, bytesMax);

@Injectable()
export class BodyGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly bodies: Bodies,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const request = context.switchToHttp().getRequest<BodyRequest>();
    if (request.method !== 'POST') return true;
    const own = this.reflector.get<number | undefined>(BODY_BYTES_MAX, context.getHandler());
    await this.bodies.take(request, own ?? smallBodyBytesMax);
    return true;
  }
}
