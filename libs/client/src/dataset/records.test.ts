/** Records read from files piece by piece are those that are made of the whole. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { concatBytes, uintBe } from '#attestation/base';
import { makeRecords, shuffledIndices } from '#libs/step';
import { fileRecords, idxRecords } from './records.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-records-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const seed = `0x${'5a'.repeat(32)}`;

const idx = (rank: number, sizes: readonly number[], data: Uint8Array): Uint8Array =>
  concatBytes(Uint8Array.of(0, 0, 8, rank), ...sizes.map((size) => uintBe(size, 4)), data);
const written = (name: string, bytes: Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
};
const count = 50;
const data = Uint8Array.from({ length: count * 6 }, (_, i) => (i * 37) % 251);
const labels = Uint8Array.from({ length: count }, (_, i) => i % 10);
const images = written('images', idx(3, [count, 2, 3], data));
const labelFile = written('labels', idx(1, [count], labels));

describe('records of IDX files', () => {
  const whole = makeRecords({ count, pixels: 6, data }, labels, shuffledIndices(seed, count));

  it('are the shuffled ones, wherever reading begins', async () => {
    const source = idxRecords(images, labelFile, seed, 10);
    expect([source.count, source.recordBytes, source.pixels]).toEqual([count, 7, 6]);
    await fc.assert(
      fc.asyncProperty(fc.nat(count), fc.nat(count), async (from, wanted) => {
        const most = Math.min(wanted, count - from);
        expect(await source.read(from, most)).toEqual(whole.slice(from * 7, (from + most) * 7));
      }),
    );
    source.close();
  });

  const zeros = new Uint8Array(count);
  it.each([
    ['IDX_MAGIC', images, images],
    ['IDX_TRUNCATED', written('short', new Uint8Array(3)), labelFile],
    ['IDX_LENGTH', written('cut', idx(3, [count, 2, 3], data.slice(1))), labelFile],
    ['RECORDS_COUNT', images, written('fewer', idx(1, [count - 1], labels.slice(1)))],
    [
      'LABEL_RANGE',
      images,
      written(
        'eleven',
        idx(
          1,
          [count],
          zeros.map((_, i) => (i === 9 ? 10 : 0)),
        ),
      ),
    ],
    ['FILE_UNREADABLE', join(folder, 'none'), labelFile],
  ])('%s', (code, one, two) => {
    expect(() => idxRecords(one, two, seed, 10)).toThrow(expect.objectContaining({ code }));
  });
});

describe('records of a file', () => {
  it('are read from any place, and refused where the file ends', async () => {
    const source = fileRecords(written('plain', data), count, 6);
    expect(await source.read(3, 2)).toEqual(data.slice(18, 30));
    await expect(source.read(count - 1, 2)).rejects.toMatchObject({ code: 'FILE_UNREADABLE' });
    expect(fileRecords(written('plain', concatBytes(data, data)), count, 6).fingerprint).not.toBe(source.fingerprint);
    source.close();
  });
});
