/** Requests with any body to a server on this machine, over connections that are kept. */
import { Agent, request } from 'node:http';

export interface HttpRequest {
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export interface HttpLine {
  /** @throws Error when the connection breaks, or nothing comes within 30 s */
  send(to: HttpRequest, body: Uint8Array): Promise<HttpAnswer>;
  close(): void;
}

const patienceMilliseconds = 30_000;

export function openHttp(): HttpLine {
  const agent = new Agent({ keepAlive: true });
  return {
    close: () => agent.destroy(),
    send: ({ port, method, path, headers }, body) =>
      new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', port, method, path, agent, timeout: patienceMilliseconds };
        const length = { 'content-length': String(body.length) };
        const sent = request({ ...options, headers: { ...headers, ...length } }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', text });
          });
        });
        sent.on('timeout', () => sent.destroy(new Error('no answer')));
        sent.on('error', reject);
        sent.end(body);
      }),
  };
}
