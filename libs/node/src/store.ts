/** Ciphertexts from and to the control plane's store, over HTTP. */
import { CollateralError, Rejection } from '#attestation/base';
import { retry } from '#libs/process';
import { readBody, readProblem } from './body.js';
import { storeBodyBytesMax } from './limits.js';
import { refusalOf } from './refusal.js';

export interface CipherStore {
  shard(datasetId: string, index: number): Promise<Uint8Array>;
  getBlob(sha256: string): Promise<Uint8Array>;
  /** @returns the blob's name, 0x-hex SHA-256 */
  putBlob(bytes: Uint8Array): Promise<string>;
}

const attempts = 6;
const answerWithinMs = 15_000;
const firstPauseMs = 100;

/** @param baseUrls  of one replica or more: one that does not answer is left for the next */
export function createCipherStore(baseUrls: readonly string[], apiKey: string): CipherStore {
  let at = 0;
  const isWorthAgain = (error: unknown): boolean => error instanceof CollateralError;
  const beforePause = (): void => void (at += 1);
  const call = (path: string, init: { method: string; body?: Uint8Array }): Promise<Uint8Array> =>
    retry(() => once(`${baseUrls[at % baseUrls.length]}/v1/${path}`, apiKey, init), {
      ...{ attempts, firstPauseMs, isWorthAgain, beforePause },
    });
  return {
    shard: (datasetId, index) => call(`datasets/${datasetId}/shards/${index}`, { method: 'GET' }),
    getBlob: (sha256) => call(`blobs/${sha256}`, { method: 'GET' }),
    async putBlob(bytes) {
      const digest = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
      const name = `0x${Buffer.from(digest).toString('hex')}`;
      await call(`blobs/${name}`, { method: 'PUT', body: bytes });
      return name;
    },
  };
}

/** @throws CollateralError where another try may help; Rejection with the server's code where it will not */
async function once(
  url: string,
  apiKey: string,
  { method, body }: { method: string; body?: Uint8Array },
): Promise<Uint8Array> {
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      signal: AbortSignal.timeout(answerWithinMs),
      headers: { authorization: `Bearer ${apiKey}`, ...(body && { 'content-type': 'application/octet-stream' }) },
      ...(body && { body: body as Uint8Array<ArrayBuffer> }),
    });
    if (response.ok) return await readBody(response, storeBodyBytesMax);
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
