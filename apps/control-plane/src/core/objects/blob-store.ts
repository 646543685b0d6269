/**
 * Content-addressed ciphertexts. What comes in is checked against its digest before it has a name, what goes out while
 * it is read; a broken upload leaves nothing but a draft that can be gone on with.
 */
import { createHash, randomBytes, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform, pipeline, type Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import { CollateralError } from '#attestation/base';
import type { Logger } from '#libs/telemetry';
import type { Config } from '../config/config.js';
import { CONFIG, LOGGER } from '../config/tokens.js';
import { refusal, type ApiCode } from '../problem/codes.js';
import { FileObjectStore, type ByteRange, type ObjectStore } from './object-store.js';
import { S3ObjectStore } from './s3-object-store.js';

const rule = 'apps/control-plane/README.md, blobs';

interface Upload {
  readonly sha256: string;
  readonly bytesMax: number;
  /** Exact length, where it is known. */
  readonly bytes?: number;
  /** Code of the refusal when digest or length differ. */
  readonly code: ApiCode;
}

@Injectable()
export class BlobStore {
  readonly objects: ObjectStore;
  /** Folder of uploads under way. */
  readonly drafts: string;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const folder = join(config.dataDirectory, 'blobs');
    this.objects = config.s3 === null ? new FileObjectStore(folder) : new S3ObjectStore(config.s3);
    this.drafts = join(folder, 'drafts');
  }

  has(sha256: string): Promise<boolean> {
    return this.objects.has(sha256);
  }

  /** A stream that breaks off when what it gave is not what the name says. @throws Rejection BLOB_UNKNOWN */
  async open(sha256: string): Promise<Readable> {
    const source = await this.objects.open(sha256);
    if (source === null) return missing(sha256);
    const hash = createHash('sha256');
    const logger = this.logger;
    const check = new Transform({
      transform(chunk: Uint8Array, _encoding, next) {
        hash.update(chunk);
        next(null, chunk);
      },
      flush(next) {
        const got = `0x${hash.digest('hex')}`;
        if (got === sha256) return next();
        logger.error('a stored ciphertext is broken', { sha256, got });
        next(corrupt(sha256, got));
      },
    });
    return pipeline(source, check, () => undefined);
  }

  /** @throws Rejection BLOB_UNKNOWN */
  async size(sha256: string): Promise<number> {
    return (await this.objects.size(sha256)) ?? missing(sha256);
  }

  /** A part, which no digest speaks for: whoever opens what it is of checks it. @throws Rejection BLOB_UNKNOWN */
  async openPart(sha256: string, range: ByteRange): Promise<Readable> {
    return (await this.objects.open(sha256, range)) ?? missing(sha256);
  }

  /** @returns length. @throws Rejection BODY_OVERSIZE and the code of the upload */
  async put(source: AsyncIterable<Uint8Array>, upload: Upload): Promise<number> {
    const draft = await this.draft(randomBytes(16).toString('hex'));
    try {
      const hash = createHash('sha256');
      const bytes = await append(source, draft, 0, upload.bytesMax, hash);
      return await this.finish(draft, upload, { bytes, sha256: hash });
    } finally {
      await rm(draft, { force: true });
    }
  }

  /** Bytes of an upload in parts that are here. */
  async partBytes(name: string): Promise<number> {
    return stat(await this.draft(name)).then(
      ({ size }) => size,
      () => 0,
    );
  }

  async dropPart(name: string): Promise<void> {
    await rm(await this.draft(name), { force: true });
  }

  /**
   * Adds a part where the last one ended; the one that completes the upload is checked as a whole, and a wrong whole is
   * dropped. What a broken connection brought is kept.
   *
   * @param name     of the draft, the same for every part
   * @returns bytes that are here
   * @throws Rejection UPLOAD_OFFSET, BODY_OVERSIZE and the code of the upload
   */
  async putPart(name: string, offset: number, source: AsyncIterable<Uint8Array>, upload: Upload & { bytes: number }) {
    const draft = await this.draft(name);
    const here = await this.partBytes(name);
    if (offset !== here) throw wrongOffset(here, offset);
    const bytes = await append(source, draft, here, upload.bytes);
    if (bytes < upload.bytes) return bytes;
    try {
      return await this.finish(draft, upload, await readWhole(draft));
    } finally {
      await rm(draft, { force: true });
    }
  }

  private async draft(name: string): Promise<string> {
    await mkdir(this.drafts, { recursive: true });
    return join(this.drafts, name);
  }

  private async finish(draft: string, upload: Upload, { bytes, sha256 }: Content): Promise<number> {
    const digest = `0x${sha256.digest('hex')}`;
    if (digest !== upload.sha256 || (upload.bytes !== undefined && upload.bytes !== bytes)) {
      throw refusal(upload.code, {
        expected: `${upload.bytes ?? 'any number of'} bytes with SHA-256 ${upload.sha256}`,
        got: `${bytes} bytes with ${digest}`,
        rule,
        action: 'Upload it again, whole.',
      });
    }
    await this.objects.adopt(draft, upload.sha256);
    return bytes;
  }
}

interface Content {
  readonly bytes: number;
  readonly sha256: Hash;
}

/** Of an upload that came in parts. */
async function readWhole(path: string): Promise<Content> {
  const sha256 = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Uint8Array>) {
    sha256.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256 };
}

/** What came before a connection broke is synced and stays. @returns where the file ends */
async function append(
  source: AsyncIterable<Uint8Array>,
  path: string,
  at: number,
  bytesMax: number,
  hash?: Hash,
): Promise<number> {
  const file = await open(path, at === 0 ? 'w' : 'r+', 0o600);
  let position = at;
  try {
    for await (const chunk of source) {
      if (position + chunk.length > bytesMax) throw oversize(bytesMax);
      await file.write(chunk, 0, chunk.length, position);
      hash?.update(chunk);
      position += chunk.length;
    }
    return position;
  } finally {
    await file.sync();
    await file.close();
  }
}

export function wrongOffset(expected: number, got: number) {
  return refusal('UPLOAD_OFFSET', {
    expected: `a part from byte ${expected} on`,
    got: `one from byte ${got}`,
    rule,
    action: 'Ask GET …/upload how much is here, and go on from there.',
  });
}

function missing(sha256: string): never {
  throw refusal('BLOB_UNKNOWN', { expected: 'a stored ciphertext', got: sha256, rule });
}

function corrupt(sha256: string, got: string): CollateralError {
  return new CollateralError('BLOB_CORRUPT', {
    expected: `bytes with SHA-256 ${sha256}`,
    got,
    rule,
    action: 'The operator restores the store from its backup.',
  });
}

export function oversize(bytesMax: number) {
  return refusal('BODY_OVERSIZE', {
    expected: `at most ${bytesMax} bytes`,
    got: 'more',
    rule: 'apps/control-plane/README.md, limits',
  });
}
