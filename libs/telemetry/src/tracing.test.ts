import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { context, propagation, trace } from '@opentelemetry/api';
import { afterEach, expect, it } from 'vitest';
import { marked, startTracing, traced } from './tracing.js';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly status?: { readonly code?: number; readonly message?: string };
}

const jobId = `0x${'ab'.repeat(16)}${'cd'.repeat(16)}`;
const endpoint = 'OTEL_EXPORTER_OTLP_ENDPOINT';

afterEach(() => {
  Reflect.deleteProperty(process.env, endpoint);
  trace.disable();
  context.disable();
  propagation.disable();
});

/** What a collector receives while `work` runs. */
async function collected(work: () => Promise<void>): Promise<Span[]> {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
      for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.env[endpoint] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tracing = await startTracing('test');
  try {
    await work();
  } finally {
    await tracing.stop();
    server.closeAllConnections();
    server.close();
  }
  return spans;
}

it('puts the spans of a job into one trace, whichever process they come from', async () => {
  const spans = await collected(async () => {
    await traced('outer', jobId, () => traced('inner', jobId, () => Promise.resolve()));
    marked('moment', jobId, { to: 'running' });
  });
  expect(spans.map(({ name }) => name).toSorted()).toEqual(['inner', 'moment', 'outer']);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set(['ab'.repeat(16)]));
  expect(new Set(spans.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set(['cd'.repeat(8)]));
});

it('records a failure by its code alone, and throws it on', async () => {
  const failure = Object.assign(new Error('with a secret'), { code: 'JOB_STATE' });
  const spans = await collected(() =>
    expect(traced('work', jobId, () => Promise.reject(failure))).rejects.toBe(failure),
  );
  expect(spans[0]!.status).toEqual({ code: 2, message: 'JOB_STATE' });
  expect(JSON.stringify(spans)).not.toContain('secret');
});

it('does the work all the same where no endpoint is set', async () => {
  const tracing = await startTracing('test', {});
  expect(await traced('work', 'no job', () => Promise.resolve(7))).toBe(7);
  await tracing.stop();
});
