/** The raw body of an upload, refused before it is read when its announced length is too large. */
import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { oversize } from '../core/objects/blob-store.js';
import { refusal } from '../core/problem/codes.js';

/** @throws Rejection MEDIA_TYPE, BODY_OVERSIZE */
export function uploadOf(request: Request, bytesMax: number): AsyncIterable<Uint8Array> {
  if (request.is('application/octet-stream') === false) {
    throw refusal('MEDIA_TYPE', {
      expected: 'application/octet-stream',
      got: request.header('content-type')?.slice(0, 80) ?? 'none',
      rule: 'openapi.json',
    });
  }
  if (Number(request.header('content-length') ?? 0) > bytesMax) throw oversize(bytesMax);
  return request;
}

/** Name of an upload in parts. Uploads of two tenants never meet, though their bytes may be the same. */
export function draftOf(tenant: string, sha256: string): string {
  return `${sha256.slice(2)}-${createHash('sha256').update(tenant).digest('hex').slice(0, 16)}`;
}
