/**
 * Content-addressed ciphertexts in the data directory. A blob appears under its name only when it is whole, synced and
 * has that digest; a broken upload leaves nothing.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, type ReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config.js';
import { refusal, type ApiCode } from '../problem/codes.js';
import { CONFIG } from '../tokens.js';

export interface Upload {
  readonly sha256: string;
  readonly bytesMax: number;
  /** Exact length, where it is known. */
  readonly bytes?: number;
  /** Code of the refusal when digest or length differ. */
  readonly code: ApiCode;
}

@Injectable()
export class BlobStore {
  readonly #directory: string;

  constructor(@Inject(CONFIG) config: Config) {
    this.#directory = join(config.dataDirectory, 'blobs');
  }

  async has(sha256: string): Promise<boolean> {
    return stat(this.path(sha256)).then(
      () => true,
      () => false,
    );
  }

  /** @throws Rejection BLOB_UNKNOWN */
  async open(sha256: string): Promise<ReadStream> {
    if (!(await this.has(sha256))) {
      throw refusal('BLOB_UNKNOWN', {
        expected: 'a stored ciphertext',
        got: sha256,
        rule: 'control-plane README, blobs',
      });
    }
    return createReadStream(this.path(sha256));
  }

  /** @returns length. @throws Rejection BODY_OVERSIZE and the code of the upload */
  async put(source: AsyncIterable<Uint8Array>, upload: Upload): Promise<number> {
    const directory = join(this.#directory, upload.sha256.slice(2, 4));
    await mkdir(directory, { recursive: true });
    const draft = join(directory, `${randomBytes(8).toString('hex')}.draft`);
    try {
      const bytes = await writeChecked(source, draft, upload);
      await rename(draft, this.path(upload.sha256));
      return bytes;
    } finally {
      await rm(draft, { force: true });
    }
  }

  private path(sha256: string): string {
    return join(this.#directory, sha256.slice(2, 4), sha256.slice(2));
  }
}

async function writeChecked(source: AsyncIterable<Uint8Array>, path: string, upload: Upload): Promise<number> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > upload.bytesMax) throw oversize(upload.bytesMax);
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  const digest = `0x${hash.digest('hex')}`;
  if (digest !== upload.sha256 || (upload.bytes !== undefined && upload.bytes !== bytes)) {
    throw refusal(upload.code, {
      expected: `${upload.bytes ?? 'any number of'} bytes with SHA-256 ${upload.sha256}`,
      got: `${bytes} bytes with ${digest}`,
      rule: 'control-plane README, blobs',
      action: 'Upload it again, whole.',
    });
  }
  return bytes;
}

export function oversize(bytesMax: number) {
  return refusal('BODY_OVERSIZE', {
    expected: `at most ${bytesMax} bytes`,
    got: 'more',
    rule: 'control-plane README, limits',
  });
}
