/** The header `Location` of an answer that made something: where it is read. A replay has it as well. */
import { Injectable, SetMetadata, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { tap, type Observable } from 'rxjs';

const MADE_AT = 'veritrain:made-at';
/** @param path  of the collection; the answer's id follows */
export const MadeAt = (path: string) => SetMetadata(MADE_AT, path);

@Injectable()
export class LocationInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const path = this.reflector.get<string | undefined>(MADE_AT, context.getHandler());
    if (path === undefined || context.getType() !== 'http') return next.handle();
    const response = context.switchToHttp().getResponse<Response>();
    return next.handle().pipe(
      tap((answer) => {
        const { id } = answer as { id?: unknown };
        if (response.statusCode === 201 && typeof id === 'string') response.setHeader('location', `${path}/${id}`);
      }),
    );
  }
}
