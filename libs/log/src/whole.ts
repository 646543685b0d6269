/** A whole log, read from its first entry on: the root follows from what was read, so nothing is left out unseen. */
import { Rejection, toHex } from '#attestation/base';
import { leafHash, nodeHash, parseEntry, type LogEntry, type LogExport, type TreeState } from '#attestation/log';
import { TileReader, type ReadFile } from './tiles/reader.js';

const bundleEntries = 256;

interface Node {
  readonly height: number;
  readonly hash: Uint8Array;
}

/** Roots of perfect subtrees of a tree that grows leaf by leaf, largest first. */
export class RightEdge {
  readonly #nodes: Node[];

  constructor(nodes: readonly Node[] = []) {
    this.#nodes = [...nodes];
  }

  add(leaf: Uint8Array): void {
    let node: Node = { height: 0, hash: leaf };
    for (let last = this.#nodes.at(-1); last?.height === node.height; last = this.#nodes.at(-1)) {
      this.#nodes.pop();
      node = { height: node.height + 1, hash: nodeHash(last.hash, node.hash) };
    }
    this.#nodes.push(node);
  }

  /** Of one leaf or more. */
  root(): Uint8Array {
    return this.#nodes.map(({ hash }) => hash).reduceRight((right, left) => nodeHash(left, right));
  }

  get nodes(): readonly Node[] {
    return this.#nodes;
  }
}

type ReadEntry = (entry: LogEntry, index: number, bytes: Uint8Array) => void;

/**
 * Reads the entries from `from` on.
 * @param edge  of the first `from` leaves; afterwards of all
 * @throws Rejection LOG_ROOT where they do not give the root of the tree, LOG_TILE, LOG_ENTRY_*; CollateralError
 *   LOG_UNREACHABLE, LOG_TILE_MISSING
 */
export async function readEntries(
  { size, root }: TreeState,
  read: ReadFile,
  { edge, from }: { readonly edge: RightEdge; readonly from: number },
  onEntry: ReadEntry,
): Promise<void> {
  for (let bundle = Math.floor(from / bundleEntries); bundle * bundleEntries < size; bundle++) {
    // A reader of its own: what one bundle needs of the tiles, no other does.
    const entries = await new TileReader(read, size).entries(bundle);
    for (const [at, entry] of entries.entries()) {
      const index = bundle * bundleEntries + at;
      if (index < from) continue;
      edge.add(leafHash(entry));
      onEntry(parseEntry(entry), index, entry);
    }
  }
  if (size === 0 || toHex(edge.root()) === toHex(root)) return;
  throw new Rejection('LOG_ROOT', {
    expected: `the root ${toHex(root)}`,
    got: toHex(edge.root()),
    rule: 'C2SP tlog-tiles',
    action: 'keep the checkpoint and report the log: it does not serve what it signed',
  });
}

/**
 * Everything that was revoked in a log, as `bundle verify --log-export` takes it.
 * @param note  the signed checkpoint of that tree
 * @throws as `readEntries`
 */
export async function exportLog(tree: TreeState, note: string, read: ReadFile): Promise<LogExport> {
  const found: { entry: Uint8Array; index: number }[] = [];
  await readEntries(tree, read, { edge: new RightEdge(), from: 0 }, ({ kind }, index, entry) => {
    if (kind === 'revocation') found.push({ entry, index });
  });
  const reader = new TileReader(read, tree.size);
  const revocations = [];
  for (const { entry, index } of found) {
    revocations.push({ entry, index, path: await reader.inclusionPath(index) });
  }
  return { v: 1, note, revocations };
}
