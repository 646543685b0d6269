/** Any hash, root, path or entry of a tree from its tiles, each read once. What it reads is believed: compare the root. */
import { CollateralError, Rejection } from '#attestation/base';
import { leafHash, nodeHash, pathHashesMax, splitOf, treeRoot } from '#attestation/log';
import { decodeEntries } from './bundles.js';
import { entriesPath, tilePath, tileWidth, widthOf } from './paths.js';

export type ReadFile = (path: string) => Promise<Uint8Array | null>;

const hashBytes = 32;
const levelsOfTile = 8;

export class TileReader {
  readonly #tiles = new Map<string, Promise<Uint8Array>>();
  /** Nodes within tiles, which many paths share; those of a tile's own level are in it. */
  readonly #inner = new Map<string, Promise<Uint8Array>>();

  constructor(
    private readonly read: ReadFile,
    readonly size: number,
  ) {}

  /** The root of the first `size` leaves. @throws CollateralError LOG_TILE_MISSING, Rejection LOG_TILE */
  root(size = this.size): Promise<Uint8Array> {
    return size === 0 ? Promise.resolve(treeRoot([])) : this.#range(0, size);
  }

  /** From the leaf up, in the tree of the first `size` leaves. */
  async inclusionPath(index: number, size = this.size): Promise<Uint8Array[]> {
    let [from, to] = [0, size];
    const ranges: [number, number][] = [];
    while (to - from > 1) {
      const split = from + splitOf(to - from);
      if (index < split) {
        ranges.unshift([split, to]);
        to = split;
      } else {
        ranges.unshift([from, split]);
        from = split;
      }
    }
    return Promise.all(ranges.map(([start, end]) => this.#range(start, end)));
  }

  /** Between the first `earlier` leaves, at least one, and the first `size`. */
  async consistencyPath(earlier: number, size = this.size): Promise<Uint8Array[]> {
    let [from, to] = [0, size];
    const ranges: [number, number][] = [];
    while (earlier !== to) {
      const split = from + splitOf(to - from);
      if (earlier <= split) {
        ranges.unshift([split, to]);
        to = split;
      } else {
        ranges.unshift([from, split]);
        from = split;
      }
    }
    if (from !== 0) ranges.unshift([from, to]);
    return Promise.all(ranges.map(([start, end]) => this.#range(start, end)));
  }

  /** Roots of the perfect subtrees that the first `size` leaves fall into, largest first. */
  async perfectRoots(size = this.size): Promise<{ readonly height: number; readonly hash: Uint8Array }[]> {
    const roots = [];
    let from = 0;
    for (let height = pathHashesMax - 10; height >= 0; height--) {
      const span = 2 ** height;
      if (Math.floor(size / span) % 2 === 0) continue;
      roots.push({ height, hash: await this.#node(height, from / span) });
      from += span;
    }
    return roots;
  }

  leaf(index: number): Promise<Uint8Array> {
    return this.#node(0, index);
  }

  /** Entries of one bundle, each compared with its leaf. @throws Rejection LOG_TILE */
  async entries(bundle: number): Promise<Uint8Array[]> {
    const width = widthOf(0, bundle, this.size);
    const { bytes, isFull } = await this.#file(entriesPath(bundle, width), entriesPath(bundle));
    const entries = decodeEntries(bytes, isFull ? tileWidth : width).slice(0, width);
    for (const [at, entry] of entries.entries()) {
      const leaf = await this.leaf(bundle * tileWidth + at);
      if (Buffer.compare(leaf, leafHash(entry)) !== 0) throw broken(`the leaf of entry ${bundle * tileWidth + at}`);
    }
    return entries;
  }

  /** Of the leaves from `from` to before `to`; a perfect range is one node. */
  async #range(from: number, to: number): Promise<Uint8Array> {
    const span = to - from;
    const height = Math.log2(span);
    if (Number.isInteger(height) && 2 ** height === span && from % span === 0) return this.#node(height, from / span);
    const split = from + splitOf(span);
    const [left, right] = await Promise.all([this.#range(from, split), this.#range(split, to)]);
    return nodeHash(left, right);
  }

  #node(height: number, index: number): Promise<Uint8Array> {
    if (height % levelsOfTile === 0) return this.#hash(height / levelsOfTile, index);
    const key = `${height}/${index}`;
    const known = this.#inner.get(key);
    if (known !== undefined) return known;
    const node = Promise.all([this.#node(height - 1, index * 2), this.#node(height - 1, index * 2 + 1)]).then(
      ([left, right]) => nodeHash(left, right),
    );
    this.#inner.set(key, node);
    return node;
  }

  async #hash(level: number, index: number): Promise<Uint8Array> {
    const tile = await this.#tile(level, Math.floor(index / tileWidth));
    const at = (index % tileWidth) * hashBytes;
    if (tile.length < at + hashBytes) throw broken(`a tile of level ${level} with node ${index}`);
    return tile.slice(at, at + hashBytes);
  }

  #tile(level: number, index: number): Promise<Uint8Array> {
    const key = `${level}/${index}`;
    const known = this.#tiles.get(key);
    if (known !== undefined) return known;
    const width = widthOf(level, index, this.size);
    const read = this.#file(tilePath(level, index, width), tilePath(level, index)).then(({ bytes: tile }) => {
      if (tile.length < width * hashBytes || tile.length > tileWidth * hashBytes) throw broken(`a tile of ${width}`);
      return tile;
    });
    this.#tiles.set(key, read);
    return read;
  }

  /** A partial file may be gone once the full one is there. */
  async #file(path: string, full: string): Promise<{ readonly bytes: Uint8Array; readonly isFull: boolean }> {
    const exact = await this.read(path);
    if (exact !== null) return { bytes: exact, isFull: path === full };
    const whole = path === full ? null : await this.read(full);
    if (whole !== null) return { bytes: whole, isFull: true };
    throw new CollateralError('LOG_TILE_MISSING', {
      expected: `${path} of the log`,
      got: 'nothing',
      rule: 'C2SP tlog-tiles',
      action: 'try again; a log that no longer serves what it published is to be reported',
    });
  }
}

function broken(expected: string): Rejection {
  return new Rejection('LOG_TILE', { expected, got: 'another', rule: 'C2SP tlog-tiles' });
}
