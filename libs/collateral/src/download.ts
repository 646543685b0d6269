/**
 * One HTTP exchange with a vendor's service: bounded in time and size, patient with 429 and 5xx. A host that asked for a
 * pause gets it from every request, not only from the one that was told.
 */
import { failure } from './failure.js';
import { answerTimeoutMs, attemptsMax, backoffMsMax, firstBackoffMs, waitingMsMax } from './limits.js';
import type { CollateralPorts } from './ports.js';

export interface DownloadRequest {
  readonly url: string;
  readonly bytesMax: number;
  readonly post?: { readonly type: string; readonly body: Uint8Array };
}

interface Downloaded {
  readonly body: Uint8Array;
  readonly headers: Headers;
}

export class Downloader {
  /** Host to the time before which it wants to be left alone, Unix milliseconds. */
  private readonly pauses = new Map<string, number>();

  constructor(private readonly ports: CollateralPorts) {}

  /**
   * @throws CollateralError COLLATERAL_UNREACHABLE, COLLATERAL_TIMEOUT, COLLATERAL_RATE_LIMITED, COLLATERAL_STATUS,
   *   COLLATERAL_NOT_FOUND, COLLATERAL_TOO_LARGE
   */
  async download(request: DownloadRequest): Promise<Downloaded> {
    const { host } = new URL(request.url);
    const deadline = this.ports.now() + waitingMsMax;
    for (let attempt = 1; ; attempt++) {
      await this.pause(host, deadline);
      const outcome = await this.attempt(request, host);
      if ('body' in outcome) return outcome;
      const wait = outcome.retryAfterMs ?? Math.min(firstBackoffMs * 2 ** (attempt - 1), backoffMsMax);
      if (outcome.wholeHost) this.pauses.set(host, Math.max(this.pauses.get(host) ?? 0, this.ports.now() + wait));
      if (attempt >= attemptsMax || this.ports.now() + wait > deadline) throw outcome.error;
      if (!outcome.wholeHost) await this.ports.sleep(wait);
    }
  }

  /** Another request may prolong the pause while this one waits. */
  private async pause(host: string, deadline: number): Promise<void> {
    for (;;) {
      const until = this.pauses.get(host) ?? 0;
      const wait = until - this.ports.now();
      if (wait <= 0) return;
      if (until > deadline) throw rateLimited(host, wait);
      await this.ports.sleep(wait);
    }
  }

  private async attempt(request: DownloadRequest, host: string): Promise<Downloaded | Retry> {
    const signal = this.ports.abortAfter(answerTimeoutMs);
    const { post } = request;
    try {
      const response = await this.ports.fetch(request.url, {
        signal,
        redirect: 'error',
        ...(post && { method: 'POST', headers: { 'content-type': post.type }, body: Buffer.from(post.body) }),
      });
      if (response.ok) return { body: await readBody(response, request.bytesMax, host), headers: response.headers };
      await response.body?.cancel();
      return this.refused(response, host);
    } catch (error) {
      if (isOurs(error)) throw error;
      return {
        wholeHost: false,
        error: signal.aborted
          ? failure('COLLATERAL_TIMEOUT', `an answer within ${answerTimeoutMs} ms`, 'none', host, 'try again later')
          : failure('COLLATERAL_UNREACHABLE', 'an answer', reasonOf(error), host, 'check the network, try again'),
      };
    }
  }

  /** @throws CollateralError for what no repetition can change */
  private refused(response: Response, host: string): Retry {
    const { status } = response;
    const retryAfterMs = readRetryAfter(response.headers.get('retry-after'), this.ports.now());
    if (status === 429) {
      return {
        wholeHost: true,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        error: rateLimited(host, retryAfterMs),
      };
    }
    const error = failure('COLLATERAL_STATUS', 'status 200', `${status}`, host, 'read the service’s documentation');
    if (status >= 500) return { wholeHost: false, ...(retryAfterMs !== undefined && { retryAfterMs }), error };
    if (status === 404) {
      throw failure('COLLATERAL_NOT_FOUND', 'a known item', '404', host, 'check chip, TCB, platform or file id');
    }
    throw error;
  }
}

interface Retry {
  readonly wholeHost: boolean;
  readonly retryAfterMs?: number;
  readonly error: Error;
}

function rateLimited(host: string, waitMs: number | undefined): Error {
  const got = waitMs === undefined ? '429' : `429, wait ${Math.ceil(waitMs / 1000)} s`;
  return failure('COLLATERAL_RATE_LIMITED', 'an answer', got, host, 'wait, or fetch ahead of time with prefetch');
}

/** Seconds or an HTTP date (RFC 9110 §10.2.3). */
export function readRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,6}$/.test(value.trim())) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

async function readBody(response: Response, bytesMax: number, host: string): Promise<Uint8Array> {
  const tooLarge = (got: string) =>
    failure('COLLATERAL_TOO_LARGE', `at most ${bytesMax} bytes`, got, host, 'do not use this mirror');
  const declared = Number(response.headers.get('content-length') ?? 0);
  if (declared > bytesMax) {
    await response.body?.cancel();
    throw tooLarge(`${declared} bytes declared`);
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > bytesMax) throw tooLarge('more');
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

function isOurs(error: unknown): boolean {
  return error instanceof Error && 'family' in error;
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message.slice(0, 120) : 'an unknown failure';
}
