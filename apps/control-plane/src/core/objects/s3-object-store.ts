/**
 * An S3-compatible object store, by signed requests. An object is checked by the store against its SHA-256 when it
 * arrives (`x-amz-checksum-sha256`), and by us when it is read.
 */
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { AwsClient } from 'aws4fetch';
import { CollateralError } from '#attestation/base';
import type { S3Location } from '../config/config.js';
import type { ByteRange, ObjectStore, StoredObject } from './object-store.js';

const answerWithinMs = 60_000;
const listingBytesMax = 4 * 1024 * 1024;

/** Every method fails with CollateralError OBJECT_STORE_UNAVAILABLE when the store does not answer as it should. */
export class S3ObjectStore implements ObjectStore {
  readonly #client: AwsClient;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor({ url, region, accessKeyId, secretAccessKey }: S3Location) {
    this.#client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 3 });
    const { origin, pathname } = new URL(url);
    const [bucket = '', ...prefix] = pathname.split('/').filter(Boolean);
    this.#bucket = `${origin}/${bucket}`;
    this.#prefix = prefix.map((part) => `${part}/`).join('');
  }

  async has(sha256: string): Promise<boolean> {
    return (await this.call('HEAD', this.key(sha256), [200, 404])).status === 200;
  }

  async size(sha256: string): Promise<number | null> {
    const { status, headers } = await this.call('HEAD', this.key(sha256), [200, 404]);
    return status === 200 ? Number(headers.get('content-length')) : null;
  }

  async open(sha256: string, range?: ByteRange): Promise<Readable | null> {
    const headers = { ...(range && { range: `bytes=${range.from}-${range.to}` }) };
    const { status, body } = await this.call('GET', this.key(sha256), [range ? 206 : 200, 404], { headers });
    if (status !== 404 && body !== null) return Readable.fromWeb(body as ReadableStream);
    await body?.cancel();
    return null;
  }

  async adopt(file: string, sha256: string): Promise<void> {
    const { size } = await stat(file);
    const digest = Buffer.from(sha256.slice(2), 'hex');
    const init = {
      body: Readable.toWeb(createReadStream(file)),
      duplex: 'half',
      headers: {
        'content-length': String(size),
        'content-type': 'application/octet-stream',
        'x-amz-checksum-sha256': digest.toString('base64'),
        'x-amz-content-sha256': digest.toString('hex'),
      },
    } as unknown as RequestInit;
    await this.call('PUT', this.key(sha256), [200], init);
    await rm(file, { force: true });
  }

  async remove(sha256: string): Promise<void> {
    await this.call('DELETE', this.key(sha256), [200, 204, 404]);
  }

  async *list(): AsyncIterable<StoredObject> {
    for (let token: string | undefined = ''; token !== undefined;) {
      const query = new URLSearchParams({ 'list-type': '2', prefix: this.#prefix });
      if (token !== '') query.set('continuation-token', token);
      const page = await textOf(await this.call('GET', `?${query.toString()}`, [200]));
      for (const [, entry] of page.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const digest = /^[0-9a-f]{2}\/([0-9a-f]{64})$/.exec(
          fieldOf(entry!, 'Key')?.slice(this.#prefix.length) ?? '',
        )?.[1];
        if (digest === undefined) continue;
        const storedAt = new Date(fieldOf(entry!, 'LastModified') ?? '');
        yield { sha256: `0x${digest}`, bytes: Number(fieldOf(entry!, 'Size')), storedAt };
      }
      token = fieldOf(page, 'NextContinuationToken');
    }
  }

  private key(sha256: string): string {
    return `/${this.#prefix}${sha256.slice(2, 4)}/${sha256.slice(2)}`;
  }

  private async call(method: string, key: string, expected: readonly number[], init: RequestInit = {}) {
    const signal = AbortSignal.timeout(answerWithinMs);
    const answer = await this.#client
      .fetch(`${this.#bucket}${key}`, { ...init, method, signal })
      .catch((error: unknown) => {
        throw unavailable(error instanceof Error ? error.message : 'no answer');
      });
    if (expected.includes(answer.status)) return answer;
    await answer.body?.cancel();
    throw unavailable(`status ${answer.status}`);
  }
}

function fieldOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text?.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}

async function textOf(answer: Response): Promise<string> {
  const text = await answer.text();
  if (text.length > listingBytesMax) throw unavailable('a listing beyond all measure');
  return text;
}

function unavailable(got: string): CollateralError {
  return new CollateralError('OBJECT_STORE_UNAVAILABLE', {
    expected: 'an answer of the object store',
    got: got.slice(0, 200),
    rule: 'apps/control-plane/README.md, blobs',
    action: 'Retry; nothing was changed. The operator checks VERITRAIN_S3_URL and its credentials.',
  });
}
