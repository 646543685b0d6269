/** Large ciphertexts in parts: uploads that go on where they broke off, and reads of a range (RFC 9110 §14). */
import type { Response } from 'express';
import { StreamableFile } from '@nestjs/common';
import { z } from 'zod';
import type { BlobStore } from '../core/objects/blob-store.js';
import { refusal } from '../core/problem/codes.js';

/** How much of an upload in parts is here. */
export const UploadView = z.object({ offset: z.int(), bytes: z.int(), uploaded: z.boolean() }).meta({ id: 'Upload' });
export type UploadView = z.infer<typeof UploadView>;

/** @throws Rejection REQUEST_MALFORMED */
export function bytesOf(header: 'upload-offset' | 'upload-length', text = ''): number {
  if (/^(0|[1-9][0-9]{0,11})$/.test(text)) return Number(text);
  throw refusal('REQUEST_MALFORMED', {
    expected: `the header ${header} with a number of bytes`,
    got: text.slice(0, 40) || 'none',
    rule: 'openapi.json',
  });
}

/**
 * A stored ciphertext, or the one range of it that was asked for with `range: bytes=FROM-TO`; any other header is not heeded.
 * @throws Rejection BLOB_UNKNOWN
 */
export async function streamOf(
  blobs: Pick<BlobStore, 'open' | 'openPart' | 'size'>,
  sha256: string,
  range: string | undefined,
  response: Response,
): Promise<StreamableFile> {
  const [, first, last] = /^bytes=(0|[1-9][0-9]{0,11})-(0|[1-9][0-9]{0,11})$/.exec(range ?? '') ?? [];
  if (first === undefined || last === undefined) return new StreamableFile(await blobs.open(sha256));
  const total = await blobs.size(sha256);
  const [from, to] = [Number(first), Math.min(Number(last), total - 1)];
  if (from > to) return new StreamableFile(await blobs.open(sha256));
  response.status(206).setHeader('content-range', `bytes ${from}-${to}/${total}`);
  return new StreamableFile(await blobs.openPart(sha256, { from, to }), { length: to - from + 1 });
}
