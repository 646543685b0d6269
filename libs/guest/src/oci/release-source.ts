/** Where a release lies: a folder, or an address that takes ranges. */
import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { CollateralError, ConfigurationError } from '#attestation/base';

export interface ReleaseSource {
  /** A short file, whole. */
  read(path: string, bytesMax: number): Promise<Uint8Array>;
  /** A file from this byte on, or from its first where the source cannot. */
  open(path: string, from: number): Promise<{ readonly from: number; readonly bytes: AsyncIterable<Uint8Array> }>;
  /** What a part that ends too early is worth. */
  brokeOff(expected: string, got: number): CollateralError;
}

const answerWithinMs = 30_000;
const rule = 'enclave/guest/README.md, releases';

/** @throws ConfigurationError GUEST_RELEASE where the address is neither https nor of this machine */
export function openRelease(from: string): ReleaseSource {
  return /^https?:\/\//.test(from) ? overHttp(from.replace(/\/*$/, '/')) : inFolder(from);
}

function inFolder(folder: string): ReleaseSource {
  const open: ReleaseSource['open'] = async (path, start) => {
    const file = join(folder, path);
    if (!existsSync(file)) throw gone(file);
    return { from: start, bytes: createReadStream(file, { start }) };
  };
  return withRead(open, folder);
}

function overHttp(base: string): ReleaseSource {
  const { protocol, hostname } = new URL(base);
  if (protocol !== 'https:' && !['127.0.0.1', 'localhost', '[::1]'].includes(hostname))
    throw refused('an address of https, or of this machine', base.slice(0, 200), 'take https');
  return withRead(async (path, start) => {
    const url = new URL(path, base);
    const head = new AbortController();
    const timer = setTimeout(() => head.abort(), answerWithinMs);
    const range = start > 0 ? { range: `bytes=${start}-` } : undefined;
    const response = await fetch(url, { headers: { 'accept-encoding': 'identity', ...range }, signal: head.signal })
      .catch((error: unknown) => {
        throw unreachable(url.href, error instanceof Error ? error.message : String(error));
      })
      .finally(() => clearTimeout(timer));
    if (response.status === 404 || response.status === 410) throw gone(url.href);
    if (!response.ok || response.body === null) throw unreachable(url.href, `status ${response.status}`);
    const isPart = response.status === 206 && response.headers.get('content-range')?.startsWith(`bytes ${start}-`);
    if (response.status === 206 && isPart !== true) throw unreachable(url.href, 'another part than was asked for');
    return { from: isPart === true ? start : 0, bytes: broken(Readable.fromWeb(response.body as never), url.href) };
  }, base);
}

async function* broken(stream: Readable, url: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    throw unreachable(url, error instanceof Error ? error.message : String(error));
  }
}

function withRead(open: ReleaseSource['open'], where: string): ReleaseSource {
  return {
    open,
    brokeOff: (expected, got) => unreachable(where, `${got} bytes of ${expected}`),
    async read(path, bytesMax) {
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of (await open(path, 0)).bytes) {
        size += chunk.length;
        if (size > bytesMax) throw refused(`${path} of at most ${bytesMax} bytes`, 'more', 'name another source');
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    },
  };
}

export function refused(expected: string, got: string, action: string): ConfigurationError {
  return new ConfigurationError('GUEST_RELEASE', { expected, got, rule, action });
}

function gone(file: string): ConfigurationError {
  return new ConfigurationError('GUEST_INPUT_GONE', {
    ...{ expected: file, got: 'no such file', rule },
    action: 'name another source with --from, or build the image: veritrain guest build',
  });
}

function unreachable(url: string, got: string): CollateralError {
  return new CollateralError('GUEST_INPUT_UNREACHABLE', {
    ...{ expected: `an answer from ${url}`, got, rule },
    action: 'try again; what has come is kept, and gone on with',
  });
}
