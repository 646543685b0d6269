/** Connections of clients that send slowly, say too much or do not read: each is answered where it can be, and cut. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger, Metrics } from '#libs/telemetry';
import { refusal, type ApiCode } from '../problem/codes.js';
import { problemOf } from '../problem/problem.js';
import { connectionsMax, headersMilliseconds, requestMilliseconds, stalledMilliseconds } from './limits.js';

export interface ConnectionLimits {
  readonly headersMilliseconds: number;
  readonly requestMilliseconds: number;
  readonly stalledMilliseconds: number;
}

export const connectionLimits: ConnectionLimits = { headersMilliseconds, requestMilliseconds, stalledMilliseconds };
const rule = 'apps/control-plane/README.md, overload';

export function guardConnections(server: Server, logger: Logger, metrics: Metrics, bounds: ConnectionLimits): void {
  server.headersTimeout = bounds.headersMilliseconds;
  server.requestTimeout = bounds.requestMilliseconds;
  server.maxConnections = connectionsMax;
  // How often Node looks for requests that are late; read when the server begins to listen.
  const checked = server as Server & { connectionsCheckingInterval: number };
  checked.connectionsCheckingInterval = Math.min(1000, bounds.headersMilliseconds / 4);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const code = codeOf(error);
    metrics.refused.inc({ reason: code === 'REQUEST_TIMEOUT' ? 'slow request' : 'broken request' });
    answer(socket, code);
  });
  server.on('drop', () => metrics.refused.inc({ reason: 'connections' }));
  cutStalled(server, bounds.stalledMilliseconds, () => {
    metrics.refused.inc({ reason: 'slow reader' });
    logger.warn('cut a connection whose peer does not read', { afterMilliseconds: bounds.stalledMilliseconds });
  });
}

function codeOf({ code }: NodeJS.ErrnoException): ApiCode {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'REQUEST_TIMEOUT';
  return code === 'HPE_HEADER_OVERFLOW' ? 'HEADERS_OVERSIZE' : 'REQUEST_MALFORMED';
}

const details = {
  REQUEST_TIMEOUT: {
    expected: 'a request that is sent without long pauses',
    got: 'one that took too long',
    action: 'Send the request again: one that did not arrive whole changed nothing.',
  },
  HEADERS_OVERSIZE: { expected: 'headers of at most 16 KiB', got: 'more', action: 'Send shorter headers.' },
  REQUEST_MALFORMED: { expected: 'a request of HTTP/1.1', got: 'other bytes', action: 'Speak HTTP/1.1 to this port.' },
} as const;

/** Bytes of an answer where no request was read that a framework could answer. */
function answer(socket: Duplex, code: ApiCode): void {
  const { _httpMessage: begun } = socket as { _httpMessage?: { headersSent: boolean } | null };
  if (!socket.writable || begun?.headersSent === true) {
    socket.destroy();
    return;
  }
  const problem = problemOf(refusal(code, { ...details[code as keyof typeof details], rule }), 'urn:none');
  const body = JSON.stringify(problem);
  const head = `HTTP/1.1 ${problem.status} ${problem.title}\r\ncontent-type: application/problem+json\r\n`;
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
}

/** Cuts connections whose buffer was never empty for so long. */
function cutStalled(server: Server, milliseconds: number, cut: () => void): void {
  const open = new Set<Socket>();
  const fullSince = new WeakMap<Socket, number>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('drain', () => fullSince.delete(socket));
    socket.once('close', () => open.delete(socket));
  });
  const timer = setInterval(() => {
    const now = performance.now();
    for (const socket of open) {
      const since = fullSince.get(socket);
      if (socket.writableLength === 0) fullSince.delete(socket);
      else if (since === undefined) fullSince.set(socket, now);
      else if (now - since >= milliseconds) {
        cut();
        socket.destroy();
      }
    }
  }, milliseconds / 6);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}
