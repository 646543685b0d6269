import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { chunkBytes, ciphertextDigest, resultChunksMax } from '#attestation/records';
import { checkStoredResult, readStoredResult } from './stored-result.js';

const filled = (length: number): Uint8Array => Uint8Array.from({ length }, (_, at) => (at * 31) & 255);

/** A store that gives its one object in pieces of this size. */
function storeOf(bytes: Uint8Array, pieceBytes: number) {
  const count = Math.ceil(bytes.length / pieceBytes);
  const pieces = Array.from({ length: count }, (_, at) => bytes.subarray(at * pieceBytes, (at + 1) * pieceBytes));
  return { open: () => Promise.resolve(Readable.from(pieces)) };
}

describe('what a seal binds of a stored result', () => {
  it.each(
    [0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes].flatMap((length) =>
      [1000, chunkBytes, 65_536, 3 * chunkBytes].map((pieceBytes) => [length, pieceBytes] as const),
    ),
  )('of %d bytes, however they are read (by %d), is the digest of the protocol', async (length, pieceBytes) => {
    const bytes = filled(length);
    const stored = await readStoredResult(storeOf(bytes, pieceBytes), 'any');
    expect(stored).toEqual({ bytes: length, ciphertextDigest: to0x(ciphertextDigest(bytes)) });
  });

  it('is not read beyond the largest result', async () => {
    const chunk = new Uint8Array(64 * chunkBytes);
    let given = 0;
    const endless = function* () {
      for (; given <= 2 * resultChunksMax; given += 64) yield chunk;
    };
    const store = { open: () => Promise.resolve(Readable.from(endless())) };
    await expect(readStoredResult(store, 'any')).rejects.toMatchObject({ code: 'DELIVERY_CIPHERTEXT' });
    expect(given).toBeLessThan(resultChunksMax + 20 * 64);
  });

  it('must be what the node says, length included', () => {
    const word = `0x${'01'.repeat(32)}`;
    const stored = { bytes: 64, ciphertextDigest: word };
    const told = { ...stored, blob: word, keyCommit: word };
    checkStoredResult(told, stored);
    for (const other of [{ bytes: 65 }, { ciphertextDigest: `0x${'02'.repeat(32)}` }]) {
      expect(() => checkStoredResult({ ...told, ...other }, stored)).toThrow(/DELIVERY_CIPHERTEXT/);
    }
  });
});
