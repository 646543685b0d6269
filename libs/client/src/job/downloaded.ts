/** A result's ciphertext on disk: it may be larger than memory, and is opened only after payment. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deliveryHasher } from '#attestation/records';

export interface Downloaded {
  readonly bytes: number;
  /** What a seal binds (contracts/SPEC.md §12). */
  readonly digest: Uint8Array;
  /** The bytes of a range, its end not with them. */
  read(from: number, to: number): Promise<Uint8Array>;
  remove(): void;
}

/** @throws Rejection DELIVERY_SIZE as soon as more has come than any result has, and what `parts` throws */
export async function download(parts: AsyncIterable<Uint8Array>): Promise<Downloaded> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-result-'));
  const path = join(folder, 'ciphertext');
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const hasher = deliveryHasher(() => createHash('sha256'));
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      for await (const part of parts) {
        hasher.update(part);
        await file.writeFile(part);
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    remove();
    throw error;
  }
  const { bytes, digest } = hasher.end();
  return { bytes, digest, remove, read: (from, to) => readRange(path, from, to) };
}

async function readRange(path: string, from: number, to: number): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const bytes = new Uint8Array(to - from);
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await file.read(bytes, at, bytes.length - at, from + at);
      if (bytesRead === 0) throw new Error(`${path} ends before byte ${to}`);
      at += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}
