/** A witness over HTTP. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { closeWithinGrace } from '#libs/process';
import type { Logger } from '#libs/telemetry';
import type { Witness } from './witness.js';

/** 63 hashes and a checkpoint with many signatures. */
const requestBytesMax = 80 * 1024;
const requestMs = 10_000;

export function createWitnessServer(witness: Witness, logger: Logger): Server {
  const server = createServer((request, response) => {
    answer(witness, request, response).catch((error: unknown) => {
      logger.error('unforeseen failure', { failure: error instanceof Error ? (error.stack ?? '') : String(error) });
      if (!response.headersSent) send(response, 500, 'unforeseen failure\n');
      else response.destroy();
    });
  });
  server.requestTimeout = requestMs;
  server.headersTimeout = requestMs;
  closeWithinGrace(server);
  return server;
}

async function answer(witness: Witness, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path] = (request.url ?? '').split('?');
  const [, originHash] = /^\/([0-9a-f]{64})\/checkpoint$/.exec(path!) ?? [];
  if (request.method === 'GET' && path === '/health/live') return send(response, 200, 'ok\n');
  if (request.method === 'GET' && originHash !== undefined) {
    const note = await witness.latest(originHash);
    return send(response, note === null ? 404 : 200, note ?? 'never signed one of that log\n');
  }
  if (path !== '/add-checkpoint') return send(response, 404, 'no such route\n');
  if (request.method !== 'POST') return send(response, 405, 'POST\n');
  const body = await bodyOf(request);
  if (body === null) {
    response.setHeader('connection', 'close');
    return send(response, 413, `at most ${requestBytesMax} bytes\n`);
  }
  const { status, body: text, type } = await witness.addCheckpoint(body);
  send(response, status, text, type);
}

/** Null where it is longer than a request can be. What is no UTF-8 becomes what no checkpoint has. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > requestBytesMax) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function send(response: ServerResponse, status: number, body: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-cache' });
  response.end(body);
}
