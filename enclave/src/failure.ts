/** Failures as the channel carries them. */
import { CodedError, Rejection } from '#attestation/base';
import { GuardViolation } from '#libs/step';
import type { ErrorReply, EventOf } from '#libs/wire/channel';

type Failure = Omit<ErrorReply, 'type' | 'id'>;

/** A failure that is none of ours is a bug: it is named as one and carries no detail of the guest's inside. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof CodedError)) {
    return {
      family: 'rejection',
      code: 'ENCLAVE_INTERNAL',
      expected: 'the enclave to work',
      got: error instanceof Error ? error.name : 'an unknown failure',
      rule: 'enclave/SPEC.md, failures',
      action: 'read the log of the enclave',
      step: null,
      tensor: null,
    };
  }
  const { expected, got, rule, action = '' } = error.detail;
  const place =
    error instanceof GuardViolation ? { step: error.step, tensor: error.tensor } : { step: null, tensor: null };
  return { family: error.family, code: error.code, ...bounded({ expected, got, rule, action }), ...place };
}

export function failedEvent(error: unknown): EventOf<'failed'> {
  const { family: _family, ...failure } = failureOf(error);
  return { type: 'failed', ...failure };
}

function bounded<T extends Record<string, string>>(texts: T): T {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.slice(0, 400)])) as T;
}

export function checkpointRefused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'enclave/SPEC.md, checkpoints',
    action: 'go on from another checkpoint, or from the start',
  });
}
