/** Turns whatever was thrown into one coded error; only what nobody foresaw becomes INTERNAL. */
import { HttpException } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { CodedError, CollateralError, reportedError } from '#attestation/base';
import { refusal, type ApiCode } from './codes.js';

const rule = 'apps/control-plane/README.md, errors';

export function explain(error: unknown): CodedError {
  return plainly(coded(error));
}

/**
 * What came stands in the explanation, and is shown and stored: control and format characters are blanks there, and so are
 * NUL and halves of surrogate pairs, which PostgreSQL takes in no text and no JSON.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, ' ');
}

function plainly(error: CodedError): CodedError {
  const { expected, got } = error.detail;
  const plain = { expected: plainText(expected), got: plainText(got) };
  if (plain.expected === expected && plain.got === got) return error;
  return reportedError({ ...error.toJSON(), ...plain });
}

function coded(error: unknown): CodedError {
  if (error instanceof CodedError) return error;
  if (isDatabaseAway(error)) {
    return new CollateralError('DATABASE_UNAVAILABLE', {
      expected: 'an answer from the database',
      got: 'a broken connection',
      rule,
      action: 'Retry; nothing was changed.',
    });
  }
  const code = codeOfHttpError(error);
  if (code !== undefined) {
    const { expected, action } = documented[code] ?? asDocumented;
    return refusal(code, { expected, got: messageOf(error), rule, action });
  }
  return refusal('INTERNAL', {
    expected: 'no failure',
    got: 'an unforeseen failure',
    rule,
    action: 'Report the instance identifier to the operator.',
  });
}

const asDocumented = { expected: 'a request as documented', action: 'Send what /openapi.json describes.' };
const documented: Partial<Record<ApiCode, typeof asDocumented>> = {
  ROUTE_UNKNOWN: { expected: 'a documented route', action: 'Look at the method and the path: /docs lists all routes.' },
  BODY_OVERSIZE: { expected: 'a smaller body', action: 'Send less at once.' },
  JSON_MALFORMED: { expected: 'a JSON document in UTF-8', action: 'Mend the JSON of the body, and send it in UTF-8.' },
  MEDIA_TYPE: { expected: 'a documented content type', action: 'Send application/json in UTF-8.' },
};

/** Errors of Nest, of Express and of its body parser carry an HTTP status. */
function codeOfHttpError(error: unknown): ApiCode | undefined {
  const status = error instanceof HttpException ? error.getStatus() : (error as { status?: unknown } | null)?.status;
  switch (status) {
    case 400:
      return isBodyError(error) ? 'JSON_MALFORMED' : 'REQUEST_MALFORMED';
    case 404:
      return 'ROUTE_UNKNOWN';
    case 413:
      return 'BODY_OVERSIZE';
    case 415:
      return 'MEDIA_TYPE';
    default:
      return undefined;
  }
}

function isBodyError(error: unknown): boolean {
  return /JSON|body|encoding|charset/i.test(messageOf(error));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : 'no message';
}

const awayCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/** PostgreSQL: class 08 (connection), class 57P (operator intervention), 53300 (too many connections). */
const awaySqlState = /^(08...|57P0.|53300)$/;
const awayMessage =
  /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error|not queryable|PGlite is clos|driver not connected|cannot use a pool after calling end/i;

function isDatabaseAway(error: unknown): boolean {
  const cause = error instanceof QueryFailedError ? (error.driverError as unknown) : error;
  if (!(cause instanceof Error)) return false;
  const { code } = cause as { code?: unknown };
  if (typeof code === 'string' && (awayCodes.has(code) || awaySqlState.test(code))) return true;
  return awayMessage.test(cause.message);
}
