import { randomBytes } from 'node:crypto';
import { createServer, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { CodedError, encodeCanonical, toCbor, uintBe } from '#attestation/base';
import {
  encodeFrame,
  frameBytesMax,
  frameDecoder,
  parseFromEnclave,
  parseRequest,
  type EnclaveEvent,
} from '#libs/wire/channel';
import { serveConnection, type Emit } from './serve.js';

const word = new Uint8Array(32);
const lease = { job: word, session: word, policy: word, evidence: word, nonce: word, grantedAt: 1, notAfter: 2 };
const release = { ...lease, provider: new Uint8Array(20), dataset: word, key: new Uint8Array(20), grant: word };
const requests: readonly Record<string, unknown>[] = [
  { type: 'open', id: 1, provider: new Uint8Array(20), chainId: 1, registry: new Uint8Array(20) },
  { type: 'attest', id: 2, nonce: new Uint8Array(32) },
  {
    ...{ type: 'job', id: 3, spec: empty(), terms: empty(), dataset: empty(), sealedKey: empty() },
    ...{ release, signature: new Uint8Array(65), hostSecret: word },
  },
  { type: 'renew', id: 7, lease, signature: new Uint8Array(65) },
  { type: 'shard', id: 4, index: 0, ciphertext: Uint8Array.of(1, 2, 3) },
  { type: 'piece', id: 8, index: 0, ciphertext: Uint8Array.of(1, 2, 3) },
  { type: 'train', id: 5, checkpoint: null, threads: 1 },
  { type: 'cancel', id: 6 },
];

function empty(): Uint8Array {
  return new Uint8Array();
}

/** xorshift32: the same bytes on every machine. */
function seeded(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

describe('frames', () => {
  const stream = Buffer.concat(requests.map(encodeFrame));
  const expected = requests.map(toCbor);

  it('come out whole however the stream is cut', () => {
    for (let cut = 0; cut <= stream.length; cut++) {
      const decoder = frameDecoder();
      const messages = [...decoder.push(stream.subarray(0, cut)), ...decoder.push(stream.subarray(cut))];
      expect(messages).toEqual(expected);
    }
    const single = frameDecoder();
    expect([...stream].flatMap((byte) => single.push(Uint8Array.of(byte)))).toEqual(expected);
  });

  it('that are large arrive in many small pieces', () => {
    const frame = encodeFrame({ blob: new Uint8Array(300_000) });
    const decoder = frameDecoder();
    const messages: unknown[] = [];
    for (let at = 0; at < frame.length; at += 3) messages.push(...decoder.push(frame.subarray(at, at + 3)));
    expect(messages).toHaveLength(1);
  });

  it('that are too long are refused at their head, and never made', () => {
    expect(() => frameDecoder().push(uintBe(frameBytesMax + 1, 4))).toThrow(/FRAME_TOO_LONG/);
    expect(() => encodeFrame({ blob: new Uint8Array(frameBytesMax) })).toThrow(/FRAME_TOO_LONG|CBOR_SIZE/);
  });

  it.each([
    ['nothing', empty()],
    ['a float', Uint8Array.of(0xf9, 0, 0)],
    ['an indefinite list', Uint8Array.of(0x9f, 0xff)],
    ['a long zero', Uint8Array.of(0x18, 0)],
    ['a duplicate key', Uint8Array.of(0xa2, 0x61, 0x61, 0, 0x61, 0x61, 1)],
    ['bytes after the item', Uint8Array.of(0, 0)],
    ['half an item', Uint8Array.of(0x42, 0)],
    ['lists without end', new Uint8Array(10_000).fill(0x81)],
  ])('with %s are refused', (_, body) => {
    expect(() => frameDecoder().push(new Uint8Array([...uintBe(body.length, 4), ...body]))).toThrow(/CBOR_/);
  });

  it('mutated 10,000 times never break the decoder or the shapes', () => {
    const next = seeded(0xf7a3e5);
    let refused = 0;
    for (let round = 0; round < 10_000; round++) {
      const bytes = Buffer.from(encodeFrame(requests[next() % requests.length]));
      for (let change = 0; change <= next() % 3; change++) {
        const at = 4 + (next() % Math.max(1, bytes.length - 4));
        bytes[at] = next() & 255;
      }
      try {
        for (const message of frameDecoder().push(bytes)) parseRequest(message);
      } catch (error) {
        if (!(error instanceof CodedError)) throw error;
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(5000);
  });
});

describe('messages', () => {
  it.each(requests.map((request) => [String(request.type), request] as const))('of type %s are read', (_, request) => {
    expect(parseRequest(toCbor(request))).toEqual(request);
  });

  it.each(requests.map((request) => [String(request.type), request] as const))(
    'of type %s with a field too many, too few or of another type are refused',
    (_, request) => {
      const others = [
        { ...request, extra: 1 },
        { ...request, id: -1 },
        { ...request, id: 'x' },
      ];
      const fewer = Object.keys(request).map((name) => {
        const { [name]: _dropped, ...rest } = request;
        return rest;
      });
      const wrong = Object.keys(request).map((name) => ({ ...request, [name]: true }));
      for (const bad of [...others, ...fewer, ...wrong]) {
        expect(() => parseRequest(toCbor(bad))).toThrow(/MESSAGE_SHAPE/);
      }
    },
  );

  it.each([
    ['an unknown type', new Map([['type', 'exfiltrate']])],
    ['a type of the object prototype', new Map([['type', 'constructor']])],
    ['no map', 7],
    ['nothing', null],
    ['a number as key', new Map([[1, 2]])],
  ])('with %s are refused in both directions', (_, message) => {
    expect(() => parseRequest(message)).toThrow(/MESSAGE_SHAPE/);
    expect(() => parseFromEnclave(message)).toThrow(/MESSAGE_SHAPE/);
  });
});

/** An enclave's end that echoes, and the host's end of the same connection. */
async function connected(
  handle: (type: string) => Promise<Uint8Array>,
  heard: (emit: Emit) => void = () => undefined,
): Promise<Socket> {
  const server = createServer((socket) => {
    server.close();
    serveConnection(socket, (emit) => (heard(emit), { handle: (request) => handle(request.type) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return connect((server.address() as { port: number }).port, '127.0.0.1');
}

function answers(socket: Socket, count: number): Promise<unknown[]> {
  const decoder = frameDecoder();
  const seen: unknown[] = [];
  return new Promise((resolve) => {
    socket.on('data', (chunk) => {
      seen.push(...decoder.push(chunk).map(parseFromEnclave));
      if (seen.length >= count) resolve(seen);
    });
    socket.on('close', () => resolve(seen));
  });
}

describe('a connection', () => {
  it('tells that an event has left when it was read, and that it never will when the host is gone', async () => {
    const emits: Emit[] = [];
    const hosts = await Promise.all(
      [0, 1].map(() =>
        connected(
          () => Promise.resolve(empty()),
          (emit) => emits.push(emit),
        ),
      ),
    );
    for (const host of hosts) host.pause();
    await vi.waitUntil(() => emits.length === 2);
    const large = {
      type: 'checkpoint',
      step: 1,
      statement: empty(),
      receipt: empty(),
      ciphertext: new Uint8Array(15 << 20),
    };
    let left = 0;
    const sent = emits.map((emit) => emit(large as EnclaveEvent).then(() => (left += 1)));
    await sleep(100);
    expect(left).toBe(0);
    hosts[0]!.resume();
    hosts[1]!.destroy();
    await Promise.all(sent);
    hosts[0]!.destroy();
  });

  it('answers every request once, a wrong one with its error', async () => {
    const socket = await connected(() => Promise.resolve(empty()));
    const seen = answers(socket, 3);
    socket.write(encodeFrame({ type: 'cancel', id: 6 }));
    socket.write(encodeFrame({ type: 'exfiltrate', id: 7 }));
    socket.write(encodeFrame({ type: 'cancel', id: -8 }));
    const replies = (await seen) as { id: number }[];
    expect(replies.sort((a, b) => a.id - b.id)).toMatchObject([
      { type: 'error', id: 0, code: 'MESSAGE_SHAPE' },
      { type: 'ok', id: 6 },
      { type: 'error', id: 7, code: 'MESSAGE_SHAPE' },
    ]);
    socket.destroy();
  });

  it('names a bug of its own without its text', async () => {
    const socket = await connected(() => Promise.reject(new TypeError('the data key is 0x0102')));
    const seen = answers(socket, 1);
    socket.write(encodeFrame({ type: 'cancel', id: 1 }));
    const [reply] = await seen;
    expect(reply).toMatchObject({ type: 'error', code: 'ENCLAVE_INTERNAL', got: 'TypeError' });
    expect(JSON.stringify(reply)).not.toContain('0102');
    socket.destroy();
  });

  it.each([
    ['garbage', randomBytes(64).fill(0xff, 0, 4)],
    ['a body that is no CBOR', Buffer.from(new Uint8Array([...uintBe(1, 4), 0xff]))],
    ['a tag', Buffer.concat([uintBe(3, 4), encodeCanonical({ tag: 99, value: 0 })])],
  ])('ends at %s or answers it with an error', async (_, bytes) => {
    const socket = await connected(() => Promise.resolve(empty()));
    const seen = answers(socket, 1);
    socket.write(bytes);
    for (const reply of await seen) expect(reply).toMatchObject({ type: 'error' });
    socket.destroy();
  });
});
