/** The one place where failures leave the process: HTTP, dispatch and GraphQL get the same problem. */
import { Catch, Inject, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { RpcArgumentsHost } from '@nestjs/common/interfaces/index.js';
import { NatsContext, type TcpContext } from '@nestjs/microservices';
import type { Request, Response } from 'express';
import { GraphQLError } from 'graphql';
import { throwError, type Observable } from 'rxjs';
import type { CodedError } from '#attestation/base';
import type { Logger } from '#libs/telemetry';
import { Denials } from '../core/auth/denials.js';
import type { Principal } from '../core/auth/principal.js';
import { LOGGER } from '../core/config/tokens.js';
import { DeadLetters, ReplayContext, type Letter } from '../core/events/dead-letters.js';
import { explain } from '../core/problem/explain.js';
import { headersOf, problemOf } from '../core/problem/problem.js';
import { wrongMethod } from './rest/method.js';

@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly letters: DeadLetters,
    private readonly denials: Denials,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): Observable<never> | void {
    let error = explain(thrown);
    if (error.code === 'ROUTE_UNKNOWN' && host.getType() === 'http') {
      const wrong = wrongMethod(host.switchToHttp().getRequest<Request>());
      if (wrong !== null) {
        host.switchToHttp().getResponse<Response>().setHeader('allow', wrong.allow);
        error = explain(wrong.error);
      }
    }
    this.denials.noteOf(error.code, host);
    const instance = host.getType() === 'http' ? requestId(host.switchToHttp().getRequest<Request>()) : 'urn:none';
    const problem = problemOf(error, instance, schemaOf[host.getType<keyof typeof schemaOf>()]);
    if (problem.status >= 500 && error.code !== 'OVERLOADED')
      this.logger.error('request failed', { code: error.code, instance, error: thrown });
    switch (host.getType<'http' | 'rpc' | 'graphql'>()) {
      case 'rpc':
        if (isPoison(error) && !(host.switchToRpc().getContext() instanceof ReplayContext))
          void this.letters.put({ ...letterOf(host.switchToRpc()), error });
        return throwError(() => problem);
      case 'graphql':
        throw new GraphQLError(problem.detail, { extensions: { ...problem } });
      case 'http':
        return sendProblem(host.switchToHttp().getResponse<Response>(), problem);
    }
  }
}

/** Where the form of a message is written down that came this way. */
const schemaOf = { http: 'openapi.json', graphql: 'schema.graphql', rpc: 'libs/wire' } as const;

/** What no retry of the same message helps. */
function isPoison({ code }: CodedError): boolean {
  return code === 'REQUEST_MALFORMED' || code === 'INTERNAL';
}

function letterOf(rpc: RpcArgumentsHost): Omit<Letter, 'error'> {
  const context = rpc.getContext<NatsContext | TcpContext | ReplayContext>();
  const isNats = context instanceof NatsContext;
  const { principal } = context as { principal?: Principal };
  const place = {
    source: isNats ? 'nats' : 'tcp',
    pattern: isNats ? context.getSubject() : context.getPattern(),
  } as const;
  return { ...place, actor: principal?.keyId ?? null, payload: rpc.getData() };
}

function sendProblem(response: Response, problem: ReturnType<typeof problemOf>): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const [name, value] of headersOf(problem)) response.setHeader(name, value);
  response.status(problem.status).type('application/problem+json').send(JSON.stringify(problem));
}

function requestId(request: Request & { id?: string }): string {
  return `urn:uuid:${request.id ?? ''}`;
}
