/** Ciphertexts from and to the control plane's store, over HTTP. */
import { z } from 'zod';
import { CollateralError, Rejection } from '#attestation/base';
import { readBody, retry } from '#libs/process';
import { readProblem } from './body.js';
import { storeBodyBytesMax } from './limits.js';
import { refusalOf } from './refusal.js';

export interface CipherStore {
  shard(datasetId: string, index: number): Promise<Uint8Array>;
  getBlob(sha256: string): Promise<Uint8Array>;
  /** Up to `bytes` bytes of it from `from` on, and how many it has; a store that knows no ranges gives all of it. */
  getPart(sha256: string, from: number, bytes: number): Promise<BlobPart>;
  /** @returns the blob's name, 0x-hex SHA-256 */
  putBlob(bytes: Uint8Array): Promise<string>;
  /** A large one in parts; what is there already is not sent again. */
  putParts(blob: BlobSource): Promise<void>;
}

interface BlobPart {
  readonly bytes: Uint8Array;
  readonly total: number;
}

export interface BlobSource {
  /** 0x-hex SHA-256. */
  readonly sha256: string;
  readonly bytes: number;
  /** The bytes of a range, its end not with them. */
  read(from: number, to: number): Uint8Array;
}

const attempts = 6;
const answerWithinMs = 15_000;
/** The last part of an upload is answered when the whole was read once more. */
const partWithinMs = 60_000;
const firstPauseMs = 100;

/** One part of an upload. */
const partBytes = 8 * 1024 * 1024;
/** A whole upload is asked for anew so often when its offset is another than was said: other replicas have other drafts. */
const uploadAttempts = 8;

interface Asked {
  readonly method: string;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param baseUrls  of one replica or more: one that does not answer is left for the next */
export function createCipherStore(baseUrls: readonly string[], apiKey: string): CipherStore {
  let at = 0;
  const isWorthAgain = (error: unknown): boolean => error instanceof CollateralError;
  const beforePause = (): void => void (at += 1);
  const ask = (path: string, init: Asked): Promise<Answer> =>
    retry(() => once(`${baseUrls[at % baseUrls.length]}/v1/${path}`, apiKey, init), {
      ...{ attempts, firstPauseMs, isWorthAgain, beforePause },
    });
  const call = async (path: string, init: Asked): Promise<Uint8Array> => (await ask(path, init)).body;

  async function upload({ sha256, bytes, read }: BlobSource): Promise<void> {
    const here = uploadOf(await call(`blobs/${sha256}/upload`, { method: 'GET' }));
    if (here.uploaded) return;
    for (let from = here.offset; ;) {
      const to = Math.min(bytes, from + partBytes);
      const headers = { 'upload-offset': `${from}`, 'upload-length': `${bytes}` };
      const answer = uploadOf(await call(`blobs/${sha256}`, { method: 'PATCH', body: read(from, to), headers }));
      if (answer.uploaded) return;
      if (answer.offset !== to) throw wrongAnswer(`${to} bytes`, `${answer.offset}`);
      from = to;
    }
  }

  return {
    shard: (datasetId, index) => call(`datasets/${datasetId}/shards/${index}`, { method: 'GET' }),
    getBlob: (sha256) => call(`blobs/${sha256}`, { method: 'GET' }),
    async getPart(sha256, from, bytes) {
      const headers = { range: `bytes=${from}-${from + bytes - 1}` };
      const answer = await ask(`blobs/${sha256}`, { method: 'GET', headers });
      const total = /^bytes [0-9]+-[0-9]+\/([0-9]+)$/.exec(answer.range ?? '')?.[1];
      return { bytes: answer.body, total: total === undefined ? answer.body.length : Number(total) };
    },
    async putBlob(bytes) {
      const digest = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
      const name = `0x${Buffer.from(digest).toString('hex')}`;
      await call(`blobs/${name}`, { method: 'PUT', body: bytes });
      return name;
    },
    putParts: (blob) =>
      retry(() => upload(blob), {
        ...{ attempts: uploadAttempts, firstPauseMs, beforePause: () => undefined },
        isWorthAgain: (error) => error instanceof Rejection && error.code === 'UPLOAD_OFFSET',
      }),
  };
}

const Upload = z.object({ offset: z.int().min(0), uploaded: z.boolean() });

/** @throws Rejection STORE_ANSWER */
function uploadOf(answer: Uint8Array): z.infer<typeof Upload> {
  const read = Upload.safeParse(jsonOf(answer));
  if (read.success) return read.data;
  throw wrongAnswer('how much of an upload is there', read.error.issues[0]!.message);
}

function wrongAnswer(expected: string, got: string): Rejection {
  return new Rejection('STORE_ANSWER', { expected, got, rule: 'control plane API' });
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}

interface Answer {
  readonly body: Uint8Array;
  /** `content-range`, where a part was given. */
  readonly range: string | null;
}

/** @throws CollateralError where another try may help; Rejection with the server's code where it will not */
async function once(url: string, apiKey: string, { method, body, headers }: Asked): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      signal: AbortSignal.timeout(method === 'PATCH' ? partWithinMs : answerWithinMs),
      headers: {
        ...{ authorization: `Bearer ${apiKey}`, ...headers },
        ...(body && { 'content-type': 'application/octet-stream' }),
      },
      ...(body && { body: body as Uint8Array<ArrayBuffer> }),
    });
    if (response.ok) {
      const range = response.headers.get('content-range');
      return { body: await readBody(response, storeBodyBytesMax), range };
    }
  } catch (error) {
    if (error instanceof Rejection) throw error;
    throw unreachable(url, error instanceof Error ? error.message : String(error));
  }
  if (response.status >= 500 || response.status === 429) throw unreachable(url, `status ${response.status}`);
  throw refusalOf(await readProblem(response), {
    code: 'STORE_REFUSED',
    expected: `${method} ${new URL(url).pathname} to succeed`,
    got: `status ${response.status}`,
    rule: 'control plane API',
  });
}

function unreachable(url: string, got: string): CollateralError {
  return new CollateralError('STORE_UNREACHABLE', {
    expected: `an answer from ${new URL(url).host}`,
    got,
    rule: 'control plane API',
    action: 'check that the control plane runs; the node goes on trying',
  });
}
