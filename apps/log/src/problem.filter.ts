/** Every failure as application/problem+json (RFC 9457) with the fields of a coded error. */
import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { CodedError, CollateralError, ConfigurationError, Rejection } from '#attestation/base';
import type { Logger } from '#libs/telemetry';

const statuses: Readonly<Record<string, number>> = {
  INTERNAL: 500,
  LOG_ISSUER: 403,
  LOG_NOT_FOUND: 404,
  LOG_RATE: 429,
  LOG_ROOT: 503,
  MESSAGE_SIZE: 413,
};
const retryAfterSeconds = 2;

@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly log: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    const request = host.switchToHttp().getRequest<Request>();
    const error = this.#coded(thrown);
    const status = statuses[error.code] ?? (error instanceof CollateralError ? 503 : 400);
    if (status === 503 || status === 429) response.setHeader('retry-after', String(retryAfterSeconds));
    const { code, detail } = error;
    const problem = { type: `/problems/${code.toLowerCase()}`, title: code, status, ...error.toJSON() };
    response.status(status).type('application/problem+json');
    response.send(JSON.stringify({ ...problem, detail: error.message, action: detail.action, instance: request.path }));
  }

  #coded(thrown: unknown): CodedError {
    if (thrown instanceof CodedError && !(thrown instanceof ConfigurationError)) return thrown;
    const status = thrown instanceof HttpException ? thrown.getStatus() : (thrown as { status?: unknown })?.status;
    if (status === 413) return rejection('MESSAGE_SIZE', 'an entry within its limit', 'more');
    if (status === 404) return rejection('LOG_NOT_FOUND', 'a documented route', 'another');
    if (typeof status === 'number' && status < 500) {
      return rejection('REQUEST_MALFORMED', 'a documented route and body', `status ${status}`);
    }
    const failure = thrown instanceof Error ? (thrown.stack ?? thrown.message) : 'something that is no error';
    this.log.error('unforeseen failure', { failure });
    return rejection('INTERNAL', 'no failure', 'an unforeseen failure');
  }
}

function rejection(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'apps/log/README.md' });
}
