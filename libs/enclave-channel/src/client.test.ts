import { createServer, connect, type Server, type Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { encodeFrame, frameDecoder } from '#libs/wire/channel';
import { createEnclaveClient } from './client.js';

const open: { close(): void }[] = [];
afterEach(() => {
  vi.useRealTimers();
  open.splice(0).forEach((entry) => entry.close());
});

const withinMs = {
  open: 60,
  attest: 60,
  job: 60,
  shard: 60,
  start: 60,
  piece: 60,
  train: 60,
  renew: 60,
  prepare: 60,
  segment: 60,
  partial: 60,
  average: 60,
  cancel: 60,
};

/** The far end answers as `answer` says; both ends close with the test. */
async function channel(answer: (far: Socket, id: number) => void) {
  const server: Server = createServer((far) => {
    const decoder = frameDecoder();
    open.push({ close: () => far.destroy() });
    far.on('error', () => undefined);
    far.on('data', (chunk) => {
      for (const message of decoder.push(chunk)) answer(far, (message as Map<string, number>).get('id')!);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1');
  return createEnclaveClient(socket, withinMs);
}

it('ENCLAVE_TIMEOUT: an enclave that does not answer is given up', async () => {
  const client = await channel(() => undefined);
  let lost = 0;
  client.onLost(() => lost++);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const given = client.request('cancel', {});
  vi.advanceTimersByTime(withinMs.cancel);
  await expect(given).rejects.toMatchObject({ code: 'ENCLAVE_TIMEOUT' });
  vi.useRealTimers();
  await expect.poll(() => lost).toBe(1);
  await expect(client.request('cancel', {})).rejects.toMatchObject({ code: 'ENCLAVE_LOST' });
});

it('an answer in time stays one after the limit has passed', async () => {
  const body = Uint8Array.of(7);
  const client = await channel((far, id) => void far.write(encodeFrame({ type: 'ok', id, body })));
  let lost = 0;
  client.onLost(() => lost++);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  expect(await client.request('cancel', {})).toEqual(body);
  vi.advanceTimersByTime(2 * withinMs.cancel);
  expect(await client.request('cancel', {})).toEqual(body);
  expect(lost).toBe(0);
});
