/** Partial tiles go once the full ones have been there for a while, and no proof is lost with them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { toHex, utf8 } from '#attestation/base';
import { checkInclusion, leafHash, treeRoot } from '#attestation/log';
import { collectPartials } from './collect.js';
import { createFileStore } from './store/files.js';
import { TileReader } from './tiles/reader.js';
import { writeTree } from './tiles/writer.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-collect-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('keeps what readers of a younger checkpoint ask for, and every full tile', async () => {
  const files = createFileStore(folder);
  const entries = Array.from({ length: 530 }, (_, at) => utf8(`entry ${at}`));
  const all = entries.map((entry) => ({ entry, leaf: leafHash(entry) }));
  const sizes = [0, 100, 256, 300, 520, 530];
  for (const [at, size] of sizes.slice(1).entries()) await writeTree(files, sizes[at]!, all.slice(sizes[at]!, size));
  const keptMs = 24 * 3_600_000;
  expect(await collectPartials(files, 530, { now: new Date(), keptMs })).toEqual({ removed: 0, young: 4 });
  const tomorrow = new Date(Date.now() + keptMs + 1000);
  expect(await collectPartials(files, 530, { now: tomorrow, keptMs })).toEqual({ removed: 4, young: 0 });
  expect(await collectPartials(files, 530, { now: tomorrow, keptMs })).toEqual({ removed: 0, young: 0 });
  expect(await files.list('tile/0/002.p')).not.toEqual([]);
  const root = treeRoot(all.map(({ leaf }) => leaf));
  for (const size of [300, 530]) {
    const reader = new TileReader(files.read, size);
    const tree = { size, root: size === 530 ? root : treeRoot(all.slice(0, size).map(({ leaf }) => leaf)) };
    expect(toHex(await reader.root())).toBe(toHex(tree.root));
    checkInclusion(all[270]!.leaf, 270, tree, await reader.inclusionPath(270));
    expect(await reader.entries(1)).toHaveLength(Math.min(256, size - 256));
  }
});
