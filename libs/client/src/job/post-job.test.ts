import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createApi } from '../api/api.js';
import { postJob } from './post-job.js';

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));
const jobId = `0x${'0a'.repeat(32)}`;

async function refusing(status: number, code: string): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ code, expected: 'a whole request', got: 'a part', rule: 'a test' }));
  });
  closers.push(() => void server.close());
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it.each([
  ['REQUEST_TIMEOUT', 408],
  ['CONTROL_PLANE_UNREACHABLE', 502],
])('%s: says where to look before a job is ordered again', async (code, status) => {
  const api = createApi(await refusing(status, code), 'key');
  await expect(postJob(api, jobId, {})).rejects.toMatchObject({
    code,
    detail: { action: expect.stringMatching(`job list shows ${jobId}`) as string },
  });
});

it('leaves what was refused for good as it is', async () => {
  const api = createApi(await refusing(422, 'JOB_TERMS'), 'key');
  await expect(postJob(api, jobId, {})).rejects.not.toHaveProperty('detail.action');
});
