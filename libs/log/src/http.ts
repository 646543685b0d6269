/** Requests to logs and witnesses: bounded in time and in what is read of an answer. */
import { CollateralError, concatBytes } from '#attestation/base';

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
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(limits.withinMs), redirect: 'error' });
    const parts: Uint8Array[] = [];
    let length = 0;
    for await (const part of response.body ?? []) {
      length += (part as Uint8Array).length;
      if (length > limits.bytesMax) throw new RangeError(`more than ${limits.bytesMax} bytes`);
      parts.push(part as Uint8Array);
    }
    return { status: response.status, headers: response.headers, body: concatBytes(...parts) };
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
