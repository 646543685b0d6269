/**
 * Every failure as application/problem+json (RFC 9457) with the fields of a coded error. What is wrong with the broker's
 * own settings is logged for its owner and is nobody else's to read.
 */
import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { CodedError, CollateralError, ConfigurationError, Rejection } from '#attestation/base';
import type { Logger } from '#libs/telemetry';

const badRequest = new Set([
  'REQUEST_MALFORMED',
  'MESSAGE_SHAPE',
  'MESSAGE_SIZE',
  'TERMS_ENCODING',
  'TERMS_FIELD',
  'TERMS_VERSION',
  'BYTES_UTF8',
  'DELIVERY_SIZE',
  'DELIVERY_CHUNKS',
]);
const ownStatus: Readonly<Record<string, number>> = { INTERNAL: 500, RATE_LIMITED: 429, BROKER_RESULT_UNKNOWN: 404 };
const retryAfterSeconds = 2;

@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly log: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    const request = host.switchToHttp().getRequest<Request>();
    const error = this.#coded(thrown);
    const status = statusOf(error, thrown);
    response.status(status).type('application/problem+json');
    if (error instanceof CollateralError) response.setHeader('retry-after', String(retryAfterSeconds));
    response.send(
      JSON.stringify({
        type: `/problems/${error.code.toLowerCase()}`,
        title: error.code,
        status,
        code: error.code,
        detail: error.message,
        ...error.detail,
        instance: request.path,
      }),
    );
  }

  #coded(thrown: unknown): CodedError {
    if (thrown instanceof CodedError && !(thrown instanceof ConfigurationError)) return thrown;
    const status = thrown instanceof HttpException ? thrown.getStatus() : (thrown as { status?: unknown })?.status;
    if (typeof status === 'number' && status < 500) {
      return new Rejection('REQUEST_MALFORMED', {
        expected: 'a documented route and a body of its type within its limit',
        got: `status ${status}`,
        rule: 'key broker API',
      });
    }
    const failure = thrown instanceof Error ? (thrown.stack ?? thrown.message) : 'something that is no error';
    this.log.error('unforeseen failure', { failure });
    return new Rejection('INTERNAL', { expected: 'no failure', got: 'an unforeseen failure', rule: 'key broker API' });
  }
}

function statusOf(error: CodedError, thrown: unknown): number {
  const own = ownStatus[error.code];
  if (own !== undefined) return own;
  const status = thrown instanceof HttpException ? thrown.getStatus() : (thrown as { status?: unknown })?.status;
  if (typeof status === 'number') return status;
  if (error instanceof CollateralError) return 503;
  return badRequest.has(error.code) || error.code.startsWith('CBOR_') ? 400 : 403;
}
