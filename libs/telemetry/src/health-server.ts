/** `/metrics`, `/health/live` and `/health/ready` of a process that has no HTTP server of its own. Read-only, without secrets. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NodeWatch } from './node-watch.js';

interface HealthAddress {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
}

export interface HealthServer {
  readonly port: number;
  close(): void;
}

const requestMsMax = 5000;
const connectionsMax = 32;

/** @param watch  as soon as it is there the server answers */
export async function serveHealth(address: HealthAddress, watch: NodeWatch): Promise<HealthServer> {
  const answers: Readonly<Record<string, () => Promise<readonly [status: number, type: string, body: string]>>> = {
    '/health/live': async () => [200, 'application/json', '{"status":"ok"}'],
    '/health/ready': async () => {
      const { isReady, parts } = watch.readiness();
      const body = JSON.stringify({ status: isReady ? 'ok' : 'away', ...parts });
      return [isReady ? 200 : 503, 'application/json', body];
    },
    '/metrics': async () => [200, watch.registry.contentType, await watch.registry.metrics()],
  };
  const server = createServer({ connectionsCheckingInterval: 1000 }, (request, response) => {
    const path = (request.url ?? '').split('?')[0]!;
    const answer = Object.hasOwn(answers, path) ? answers[path] : undefined;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', connection: 'close' };
    if (answer === undefined || !isRead)
      return void response.writeHead(answer === undefined ? 404 : 405, headers).end();
    answer().then(
      ([status, type, body]) => response.writeHead(status, { ...headers, 'content-type': type }).end(body),
      () => response.writeHead(500, headers).end(),
    );
  });
  server.maxConnections = connectionsMax;
  server.requestTimeout = requestMsMax;
  server.headersTimeout = requestMsMax;
  server.setTimeout(requestMsMax);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}
