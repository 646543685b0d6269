/** Trees in tiles: every size gives the root of RFC 6962 and proofs that hold; paths are those of tlog-tiles. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { toHex, utf8 } from '#attestation/base';
import { checkConsistency, checkInclusion, leafHash, treeRoot } from '#attestation/log';
import { createFileStore } from '../store/files.js';
import { decodeEntries, encodeEntries } from './bundles.js';
import { entriesPath, tilePath, tilePattern, widthOf } from './paths.js';
import { TileReader } from './reader.js';
import { rootWith, writeTree } from './writer.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-tiles-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const added = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => {
    const entry = utf8(`entry ${from + at}`);
    return { entry, leaf: leafHash(entry) };
  });

describe('paths', () => {
  it('are those of tlog-tiles', () => {
    expect(tilePath(0, 1_234_067)).toBe('tile/0/x001/x234/067');
    expect(tilePath(1, 0, 1)).toBe('tile/1/000.p/1');
    expect(entriesPath(273, 112)).toBe('tile/entries/273.p/112');
    expect([widthOf(0, 273, 70_000), widthOf(1, 1, 70_000), widthOf(2, 0, 70_000)]).toEqual([112, 17, 1]);
  });

  it.each([
    'tile/0/0',
    'tile/64/000',
    'tile/00/000',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/../000',
    'tile/0/x00/000',
    'tile/entries/000.p/01',
    'checkpoint',
  ])('are not %s', (path) => {
    expect(tilePattern.test(path)).toBe(false);
  });
});

describe('a tree that grows', () => {
  it('has the root of RFC 6962 at every published size, and proofs of every leaf', async () => {
    const store = createFileStore(join(folder, 'grows'));
    const sizes = [1, 2, 3, 7, 255, 256, 257, 300, 511, 513, 770];
    const all = added(0, 770).map(({ leaf }) => leaf);
    let from = 0;
    for (const size of sizes) {
      const before = new TileReader(store.read, from);
      const more = added(from, size);
      const foretold = await rootWith(
        before,
        more.map(({ leaf }) => leaf),
      );
      await writeTree(store, from, more);
      const reader = new TileReader(store.read, size);
      const root = treeRoot(all.slice(0, size));
      expect([toHex(foretold), toHex(await reader.root())]).toEqual([toHex(root), toHex(root)]);
      for (const index of new Set([0, 1, 254, 255, 256, size - 2, size - 1].filter((at) => at >= 0 && at < size))) {
        checkInclusion(all[index]!, index, { size, root }, await reader.inclusionPath(index));
      }
      for (const earlier of sizes.filter((one) => one <= size)) {
        const tree = { size: earlier, root: await reader.root(earlier) };
        checkConsistency(tree, { size, root }, await reader.consistencyPath(earlier));
      }
      from = size;
    }
    const reader = new TileReader(store.read, 770);
    expect((await reader.entries(3)).map((entry) => new TextDecoder().decode(entry))).toEqual(
      ['entry 768', 'entry 769'].map(String),
    );
  });

  it('gives the same bytes when a step is repeated', async () => {
    const store = createFileStore(join(folder, 'again'));
    await writeTree(store, 0, added(0, 200));
    await writeTree(store, 200, added(200, 520));
    const paths = ['tile/0/000', 'tile/0/002.p/8', 'tile/1/000.p/2', 'tile/entries/001'];
    const before = await Promise.all(paths.map(store.read));
    await writeTree(store, 200, added(200, 520));
    expect(await Promise.all(paths.map(store.read))).toEqual(before);
  });
});

describe('what is no tile', () => {
  it('is refused: another length, another count, an entry that is not its leaf', async () => {
    const bundle = encodeEntries([utf8('a'), utf8('bc')]);
    expect(decodeEntries(bundle, 2)).toHaveLength(2);
    for (const [bytes, count] of [
      [bundle, 1],
      [bundle, 3],
      [bundle.subarray(0, -1), 2],
      [new Uint8Array(70_000), 2],
      [encodeEntries([new Uint8Array(4097)]), 1],
    ] as const) {
      expect(() => decodeEntries(bytes, count)).toThrow(/LOG_TILE/);
    }
    const store = createFileStore(join(folder, 'bent'));
    await writeTree(store, 0, added(0, 2));
    await store.write(entriesPath(0, 2), encodeEntries([utf8('entry 0'), utf8('entry 9')]));
    await expect(new TileReader(store.read, 2).entries(0)).rejects.toThrow(/LOG_TILE/);
    await expect(new TileReader(store.read, 3).root()).rejects.toThrow(/LOG_TILE_MISSING/);
  });
});
