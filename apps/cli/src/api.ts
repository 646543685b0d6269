/** The control plane's REST interface as a client uses it. */
import { randomUUID } from 'node:crypto';
import { CollateralError, Rejection } from '#attestation';

export interface ControlPlaneApi {
  get<T>(path: string): Promise<T>;
  getBytes(path: string): Promise<Uint8Array>;
  post<T>(path: string, body: unknown): Promise<T>;
  put(path: string, body: Uint8Array): Promise<void>;
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

export function createApi(url: string, apiKey: string): ControlPlaneApi {
  const authorization = { authorization: `Bearer ${apiKey}` };
  async function call(path: string, init: RequestInit = {}): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`${url}/v1/${path}`, { ...init, headers: { ...authorization, ...init.headers } });
    } catch (error) {
      throw new CollateralError('CONTROL_PLANE_UNREACHABLE', {
        expected: `an answer from ${url}`,
        got: error instanceof Error ? error.message : String(error),
        rule: 'control plane API',
        action: 'check the address and that the control plane runs',
      });
    }
    if (response.ok) return response;
    throw await problemOf(response);
  }
  return {
    get: async <T>(path: string) => (await (await call(path)).json()) as T,
    getBytes: async (path) => new Uint8Array(await (await call(path)).arrayBuffer()),
    post: async <T>(path: string, body: unknown) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
      return (await (await call(path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as T;
    },
    async put(path, body) {
      const headers = { 'content-type': 'application/octet-stream' };
      await call(path, { method: 'PUT', headers, body: body as Uint8Array<ArrayBuffer> });
    },
    async events(path, onEvent, ended, stop) {
      let lastId = '';
      while (!stop.aborted) {
        const headers = { accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) };
        const response = await call(path, { headers });
        for await (const event of eventsOf(response.body!)) {
          if (event.id !== '') lastId = event.id;
          onEvent({ type: event.type, data: JSON.parse(event.data) });
          if (stop.aborted) return;
        }
        if (await ended()) return;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    },
  };
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
