/** Requests to logs and witnesses: bounded in time and in what is read of an answer. */
import { CollateralError } from '#attestation/base';
import { readBody } from '#libs/process';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** @throws CollateralError LOG_UNREACHABLE: no answer in time, or a longer one than allowed */
export async function ask(
  url: string,
  limits: { readonly withinMs: number; readonly bytesMax: number },
  init: RequestInit = {},
): Promise<Answer> {
  const signal = AbortSignal.any([AbortSignal.timeout(limits.withinMs), ...(init.signal ? [init.signal] : [])]);
  try {
    const response = await fetch(url, { ...init, signal, redirect: 'error' });
    return { status: response.status, headers: response.headers, body: await readBody(response, limits.bytesMax) };
  } catch (error) {
    throw new CollateralError('LOG_UNREACHABLE', {
      expected: `an answer of ${url} within ${limits.withinMs} ms`,
      got: error instanceof Error ? error.message : String(error),
      rule: 'libs/log/README.md',
      action: 'try again',
    });
  }
}

export const textOf = (body: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(body);
