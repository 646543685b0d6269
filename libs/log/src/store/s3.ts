/** Files of a log in an S3-compatible store, by signed requests: a PUT is whole or not at all. */
import { AwsClient } from 'aws4fetch';
import { CollateralError } from '#attestation/base';
import { readBody } from '#libs/process';
import { listingBytesMax, tileBytesMax } from '../limits.js';
import type { LogFiles } from './files.js';

export interface S3Place {
  /** `https://HOST/BUCKET/PREFIX…`. */
  readonly url: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const answerWithinMs = 20_000;

/** Every call fails with CollateralError LOG_STORE where the store does not answer as it should. */
export function createS3Store({ url, region, accessKeyId, secretAccessKey }: S3Place): LogFiles {
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 3 });
  const { origin, pathname } = new URL(url);
  const [bucket = '', ...folders] = pathname.split('/').filter(Boolean);
  const prefix = folders.map((folder) => `${folder}/`).join('');
  const call = async (
    method: string,
    key: string,
    expected: readonly number[],
    bytesMax: number,
    init: RequestInit = {},
  ): Promise<{ status: number; headers: Headers; body: Uint8Array }> => {
    const signal = AbortSignal.timeout(answerWithinMs);
    try {
      const answer = await client.fetch(`${origin}/${bucket}${key}`, { ...init, method, signal });
      const body = await readBody(answer, bytesMax);
      if (!expected.includes(answer.status)) throw new Error(`status ${answer.status}`);
      return { status: answer.status, headers: answer.headers, body };
    } catch (error) {
      throw unavailable(error instanceof Error ? error.message : 'no answer');
    }
  };
  const keyOf = (path: string): string => `/${prefix}${path}`;
  return {
    async read(path) {
      const { status, body } = await call('GET', keyOf(path), [200, 404], tileBytesMax);
      return status === 200 ? body : null;
    },
    async write(path, bytes) {
      const body = Uint8Array.from(bytes);
      await call('PUT', keyOf(path), [200], listingBytesMax, { body });
    },
    async writtenAt(path) {
      const { status, headers } = await call('HEAD', keyOf(path), [200, 404], 0);
      return status === 200 ? new Date(headers.get('last-modified') ?? 0) : null;
    },
    async remove(path) {
      await call('DELETE', keyOf(path), [200, 204, 404], listingBytesMax);
    },
    async list(folder) {
      const names: string[] = [];
      const within = `${prefix}${folder}/`;
      for (let token: string | undefined = ''; token !== undefined;) {
        const query = new URLSearchParams({ 'list-type': '2', prefix: within });
        if (token !== '') query.set('continuation-token', token);
        const { body } = await call('GET', `?${query.toString()}`, [200], listingBytesMax);
        const page = new TextDecoder().decode(body);
        for (const [, key] of page.matchAll(/<Key>([^<]*)<\/Key>/g)) {
          const name = key!.slice(within.length);
          if (key!.startsWith(within) && !name.includes('/')) names.push(name);
        }
        token = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(page)?.[1]?.replaceAll('&amp;', '&');
      }
      return names;
    },
  };
}

function unavailable(got: string): CollateralError {
  return new CollateralError('LOG_STORE', {
    expected: 'an answer of the object store',
    got: got.slice(0, 200),
    rule: 'apps/log/README.md',
    action: 'the next round tries again; look at the address, the bucket and its credentials',
  });
}
