/** The control plane's REST interface as a client uses it. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CollateralError, Rejection } from '#attestation/base';
import { retry } from '#libs/process';

export interface ControlPlaneApi {
  get<T>(path: string): Promise<T>;
  getBytes(path: string): Promise<Uint8Array>;
  /** The same part by part, one in memory at a time; a server that knows no ranges gives all of it at once. */
  getParts(path: string): AsyncIterable<Uint8Array>;
  post<T>(path: string, body: unknown): Promise<T>;
  put(path: string, body: Uint8Array): Promise<void>;
  remove(path: string): Promise<void>;
  /**
   * Follows server-sent events; after a broken stream it goes on from the last event id.
   * @param ended  asked when the server has ended the stream: whether there is nothing more to come
   */
  events(
    path: string,
    onEvent: (event: ServerEvent) => void,
    ended: () => Promise<boolean>,
    stop: AbortSignal,
  ): Promise<void>;
}

export interface ServerEvent {
  readonly type: string;
  readonly data: unknown;
}

const attempts = 4;
/**
 * Attempts to go on with a stream that has begun: a client that follows a job for hours outlives restarts of replicas.
 */
const attemptsOfStream = 9;
const firstPauseMs = 100;
/** The longest pause that an answer may ask for. */
const retryAfterMaxMs = 10_000;
/** How long a request is asked again of servers that shed it: they say when, and it counts as no attempt. */
const shedPatienceMs = 60_000;
const answerWithinMs = 30_000;
/** The slowest line that an upload is waited for: a shard of 4 MiB may take four minutes and a half. */
const uploadBytesPerMs = 16;
/** What is asked for at once of a large answer. */
const partBytes = 8 * 1024 * 1024;
/** A stream that says nothing for so long is asked for again: its server may be gone without a word. */
const silentWithinMs = 30_000;

type Call = (path: string, init?: RequestInit, attemptsMax?: number, withinMs?: number) => Promise<Response>;

/** Every request may be repeated: those that change something carry an idempotency key, or what they store by name. */
function callOf(urls: string | readonly string[], apiKey: string): Call {
  const authorization = { authorization: `Bearer ${apiKey}` };
  const bases = typeof urls === 'string' ? [urls] : urls;
  let at = 0;

  return (path, init = {}, attemptsMax = attempts, withinMs = answerWithinMs) => {
    const shedUntil = performance.now() + shedPatienceMs;
    const once = async (): Promise<Response> => {
      for (let asked = 1; ; asked++) {
        const url = bases[at % bases.length]!;
        const signal = init.signal ?? AbortSignal.timeout(withinMs);
        const headers = { ...authorization, ...init.headers };
        const response = await fetch(`${url}/v1/${path}`, { ...init, signal, headers }).catch((error: unknown) => {
          throw unreachable(url, error instanceof Error ? error.message : String(error));
        });
        if (response.ok) return response;
        if (!isPassing(response.status)) throw await problemOf(response);
        await response.body?.cancel().catch(() => undefined);
        const wantedMs = wantedPauseMs(response);
        const failure = unreachable(url, `status ${response.status}`);
        if (wantedMs === 0 || performance.now() + wantedMs > shedUntil) throw failure;
        // Another replica may serve a request that this one sheds.
        at += 1;
        if (asked % bases.length !== 0) continue;
        await sleep(wantedMs, undefined, init.signal ? { signal: init.signal } : {}).catch(() => {
          throw failure;
        });
      }
    };
    return retry(once, {
      ...{ attempts: attemptsMax, firstPauseMs, signal: init.signal },
      isWorthAgain: (error) => error instanceof CollateralError,
      beforePause: () => void (at += 1),
    });
  };
}

/** @param urls  of one replica or more: one that does not answer is left for the next */
export function createApi(urls: string | readonly string[], apiKey: string): ControlPlaneApi {
  const call = callOf(urls, apiKey);
  return {
    get: async <T>(path: string) => (await (await call(path)).json()) as T,
    getBytes: async (path) => new Uint8Array(await (await call(path)).arrayBuffer()),
    getParts: (path) => partsOf(path, (range) => call(path, { headers: { range } })),
    post: async <T>(path: string, body: unknown) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
      return (await (await call(path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as T;
    },
    async put(path, body) {
      const headers = { 'content-type': 'application/octet-stream' };
      const withinMs = answerWithinMs + Math.ceil(body.length / uploadBytesPerMs);
      await call(path, { method: 'PUT', headers, body: body as Uint8Array<ArrayBuffer> }, attempts, withinMs);
    },
    async remove(path) {
      await call(path, { method: 'DELETE' });
    },
    async events(path, onEvent, ended, stop) {
      let lastId = '';
      let patience = attempts;
      while (!stop.aborted) {
        const headers = { accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) };
        const silence = watchdog(silentWithinMs);
        const response = await call(path, { headers, signal: silence.signal }, patience);
        patience = attemptsOfStream;
        for await (const event of whole(eventsOf(response.body!))) {
          silence.fed();
          if (event.id !== '') lastId = event.id;
          onEvent({ type: event.type, data: JSON.parse(event.data) });
          if (stop.aborted) return silence.stop();
        }
        silence.stop();
        // No replica answers: the stream is asked for again, with longer pauses.
        if (await ended().catch(() => false)) return;
        await sleep(200);
      }
    },
  };
}

/** @param ask for one range */
async function* partsOf(path: string, ask: (range: string) => Promise<Response>): AsyncGenerator<Uint8Array> {
  for (let [from, total] = [0, 1]; from < total;) {
    const response = await ask(`bytes=${from}-${from + partBytes - 1}`);
    const part = new Uint8Array(await response.arrayBuffer());
    if (response.status !== 206 && from > 0) throw unreachable(path, 'all of it in place of a part');
    if (part.length === 0) return;
    yield part;
    from += part.length;
    total = Number(/^bytes [0-9]+-[0-9]+\/([0-9]+)$/.exec(response.headers.get('content-range') ?? '')?.[1] ?? from);
  }
}

/** A replica that stops, or has lost its database: another one, or the same in a moment, answers. */
function isPassing(status: number): boolean {
  return status === 502 || status === 503 || status === 504;
}

/** What a server that sheds requests asks for in Retry-After. */
function wantedPauseMs({ headers }: Response): number {
  const seconds = Number(headers.get('retry-after') ?? 0);
  return Number.isFinite(seconds) ? Math.min(Math.max(0, 1000 * seconds), retryAfterMaxMs) : 0;
}

/** Aborts when it was not fed for so long. */
function watchdog(milliseconds: number): { readonly signal: AbortSignal; fed(): void; stop(): void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), milliseconds).unref();
  return { signal: controller.signal, fed: () => void timer.refresh(), stop: () => clearTimeout(timer) };
}

/** Events until the stream ends or breaks: the caller goes on after the last one. */
async function* whole(events: AsyncGenerator<ServerSentEvent>): AsyncGenerator<ServerSentEvent> {
  for (;;) {
    const next = await events.next().catch(() => ({ done: true as const, value: undefined }));
    if (next.done === true) return;
    yield next.value;
  }
}

function unreachable(url: string, got: string): CollateralError {
  return new CollateralError('CONTROL_PLANE_UNREACHABLE', {
    expected: `an answer from ${url}`,
    got,
    rule: 'control plane API',
    action: 'check the address and that the control plane runs',
  });
}

async function problemOf(response: Response): Promise<Rejection> {
  const problem = (await response.json().catch(() => ({}))) as Record<string, string>;
  return new Rejection(problem.code ?? 'CONTROL_PLANE_REFUSED', {
    expected: problem.expected ?? 'the request to succeed',
    got: problem.got ?? `status ${response.status}`,
    rule: problem.rule ?? 'control plane API',
    ...(problem.action && { action: problem.action }),
  });
}

interface ServerSentEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

/** @source HTML Living Standard, server-sent events §9.2.6; the fields this server sends */
async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const value = (name: string): string =>
        lines
          .filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).trimStart())
          .join('\n');
      const data = value('data');
      if (data !== '') yield { id: value('id'), type: value('event') || 'message', data };
    }
  }
}
