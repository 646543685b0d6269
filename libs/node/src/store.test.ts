import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { createCipherStore } from './store.js';

const bytes = randomBytes(20 * 1024 * 1024);
const blob = {
  sha256: `0x${createHash('sha256').update(bytes).digest('hex')}`,
  bytes: bytes.length,
  read: (from: number, to: number) => new Uint8Array(bytes.subarray(from, to)),
};

let server: Server | undefined;
afterEach(() => server?.close());

/** A control plane that has so much of the blob, and breaks off the connection at the n-th part. */
async function plane({ has = 0, breaksAt = 0, lies = false } = {}) {
  const parts: [number, number][] = [];
  let [here, asked] = [has, 0];
  server = createServer((request, response) => {
    const answer = () =>
      response.end(JSON.stringify({ offset: here, bytes: bytes.length, uploaded: here === bytes.length }));
    if (request.method === 'GET') return void answer();
    void buffer(request).then((body) => {
      const offset = Number(request.headers['upload-offset']);
      asked += 1;
      if (asked === breaksAt) return void response.destroy();
      if (offset !== here) {
        response.statusCode = 409;
        return void response.end(JSON.stringify({ code: 'UPLOAD_OFFSET' }));
      }
      parts.push([offset, body.length]);
      if (!lies) here += body.length;
      answer();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return { parts, store: createCipherStore([`http://127.0.0.1:${port}`], 'key') };
}

const part = 8 * 1024 * 1024;

describe('a large ciphertext', () => {
  it('is sent in parts, and none that is there already', async () => {
    const { store, parts } = await plane({ has: part });
    await store.putParts(blob);
    expect(parts).toEqual([
      [part, part],
      [2 * part, bytes.length - 2 * part],
    ]);
    await store.putParts(blob);
    expect(parts).toHaveLength(2);
  });

  it('goes on behind a connection that broke', async () => {
    const { store, parts } = await plane({ breaksAt: 2 });
    await store.putParts(blob);
    expect(parts.map(([offset]) => offset)).toEqual([0, part, 2 * part]);
  });

  it('is not sent for ever to who says that nothing has come', async () => {
    const { store } = await plane({ lies: true });
    await expect(store.putParts(blob)).rejects.toMatchObject({ code: 'STORE_ANSWER' });
  });
});
