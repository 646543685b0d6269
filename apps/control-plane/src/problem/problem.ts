/** Problem details (RFC 9457) of a coded error. */
import type { CodedError } from '#attestation';
import type { Problem } from '#libs/messaging';
import { redactText } from '#libs/telemetry';
import { statusOf } from './codes.js';

export function problemOf(error: CodedError, instance: string): Problem {
  const { expected, got, rule, action } = error.detail;
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
