/** The one place where failures leave the process: HTTP, dispatch and GraphQL get the same problem. */
import { Catch, Inject, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { GraphQLError } from 'graphql';
import { throwError, type Observable } from 'rxjs';
import type { Logger } from '#libs/telemetry';
import { LOGGER } from '../tokens.js';
import { explain } from './explain.js';
import { problemOf } from './problem.js';

@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): Observable<never> | void {
    const error = explain(thrown);
    const instance = host.getType() === 'http' ? requestId(host.switchToHttp().getRequest<Request>()) : 'urn:none';
    const problem = problemOf(error, instance);
    if (problem.status >= 500) this.logger.error('request failed', { code: error.code, instance, error: thrown });
    switch (host.getType<'http' | 'rpc' | 'graphql'>()) {
      case 'rpc':
        return throwError(() => problem);
      case 'graphql':
        throw new GraphQLError(problem.detail, { extensions: { ...problem } });
      case 'http':
        return sendProblem(host.switchToHttp().getResponse<Response>(), problem);
    }
  }
}

function sendProblem(response: Response, problem: ReturnType<typeof problemOf>): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.status(problem.status).type('application/problem+json').send(JSON.stringify(problem));
}

function requestId(request: Request & { id?: string }): string {
  return `urn:uuid:${request.id ?? ''}`;
}
