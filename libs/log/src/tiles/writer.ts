/** The files that a tree of `to` leaves has and one of `from` leaves has not: a function of its leaves and entries. */
import { concatBytes, uintBe } from '#attestation/base';
import { nodeHash, treeRoot } from '#attestation/log';
import { entriesPath, tilePath, tileWidth, widthOf } from './paths.js';
import { decodeEntries } from './bundles.js';
import type { ReadFile, TileReader } from './reader.js';

type WriteFile = (path: string, bytes: Uint8Array) => Promise<void>;

interface NewLeaf {
  readonly leaf: Uint8Array;
  readonly entry: Uint8Array;
}

/** The root after more leaves, from the roots of the perfect subtrees before. */
export async function rootWith(reader: TileReader, leaves: readonly Uint8Array[]): Promise<Uint8Array> {
  const stack = [...(await reader.perfectRoots())];
  for (const leaf of leaves) {
    let top = { height: 0, hash: leaf };
    while (stack.at(-1)?.height === top.height) {
      top = { height: top.height + 1, hash: nodeHash(stack.pop()!.hash, top.hash) };
    }
    stack.push(top);
  }
  const hashes = stack.map(({ hash }) => hash);
  return hashes.length === 0 ? treeRoot([]) : hashes.reduceRight((right, left) => nodeHash(left, right));
}

/** Writes bundles first, so that no leaf is shown whose entry is not there. */
export async function writeTree(
  files: { readonly read: ReadFile; readonly write: WriteFile },
  from: number,
  added: readonly NewLeaf[],
): Promise<void> {
  const to = from + added.length;
  await writeEntries(files, from, to, added);
  let fresh = new Map(added.map(({ leaf }, index) => [from + index, leaf]));
  for (let level = 0; fresh.size > 0; level++) fresh = await writeLevel(files, level, from, to, fresh);
}

async function writeEntries(
  { read, write }: { readonly read: ReadFile; readonly write: WriteFile },
  from: number,
  to: number,
  added: readonly NewLeaf[],
): Promise<void> {
  for (let bundle = Math.floor(from / tileWidth); bundle * tileWidth < to; bundle++) {
    const kept = widthOf(0, bundle, from);
    const width = widthOf(0, bundle, to);
    const before = kept === 0 ? new Uint8Array(0) : await present(read, entriesPath(bundle, kept));
    decodeEntries(before, kept);
    const start = bundle * tileWidth + kept - from;
    const parts = added.slice(start, start + width - kept).map(({ entry }) => [uintBe(entry.length, 2), entry]);
    await write(entriesPath(bundle, width), concatBytes(before, ...parts.flat()));
  }
}

/** @returns the hashes of the level above that have become known */
async function writeLevel(
  { read, write }: { readonly read: ReadFile; readonly write: WriteFile },
  level: number,
  from: number,
  to: number,
  fresh: ReadonlyMap<number, Uint8Array>,
): Promise<Map<number, Uint8Array>> {
  const above = new Map<number, Uint8Array>();
  const tiles = [...new Set([...fresh.keys()].map((index) => Math.floor(index / tileWidth)))];
  for (const tile of tiles) {
    const kept = widthOf(level, tile, from);
    const width = widthOf(level, tile, to);
    const before = kept === 0 ? new Uint8Array(0) : await present(read, tilePath(level, tile, kept));
    const added = Array.from({ length: width - kept }, (_, at) => fresh.get(tile * tileWidth + kept + at)!);
    const bytes = concatBytes(before, ...added);
    await write(tilePath(level, tile, width), bytes);
    if (width < tileWidth) continue;
    const hashes = Array.from({ length: tileWidth }, (_, at) => bytes.slice(at * 32, at * 32 + 32));
    above.set(tile, treeRoot(hashes));
  }
  return above;
}

async function present(read: ReadFile, path: string): Promise<Uint8Array> {
  const bytes = await read(path);
  if (bytes === null) throw new Error(`the log's own ${path} is gone`);
  return bytes;
}
