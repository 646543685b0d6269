/** Problem details (RFC 9457) of a coded error. */
import type { CodedError } from '#attestation/base';
import { redactText } from '#libs/telemetry';
import type { Problem } from '#libs/wire';
import { statusOf } from './codes.js';

/** @param schema  what a rule that names the schema of REST is to name instead */
export function problemOf(error: CodedError, instance: string, schema = 'openapi.json'): Problem {
  const { expected, got, action } = error.detail;
  const rule = error.detail.rule === 'openapi.json' ? schema : error.detail.rule;
  return {
    type: `urn:veritrain:problem:${error.code}`,
    title: error.code.toLowerCase().replaceAll('_', ' '),
    status: statusOf(error),
    code: error.code,
    detail: redactText(`Expected ${expected}; got ${got}.`),
    expected: redactText(expected),
    got: redactText(got),
    rule,
    action: action ?? '',
    instance,
  };
}

/** Headers that go with it: RFC 9110 wants to hear of the scheme with every 401. */
export function headersOf({ status, code }: Problem): readonly (readonly [name: string, value: string])[] {
  if (status !== 401) return [];
  const error = code === 'AUTH_UNKNOWN' ? ', error="invalid_token"' : '';
  return [['www-authenticate', `Bearer realm="veritrain"${error}`]];
}
