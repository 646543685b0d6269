/** Proofs of entries, many at a time: one question to the database, and one reader for all under one checkpoint. */
import { toHex } from '#attestation/base';
import { logProofText, parseCheckpoint, type TrustPolicy } from '#attestation/log';
import { bytesArray } from './intake.js';
import type { LogParts } from './sequencer.js';
import { TileReader } from './tiles/reader.js';

export type Wait = 'integrated' | 'witnessed';

interface Wanted {
  readonly leaf: Uint8Array;
  readonly wait: Wait;
}

interface Row {
  readonly leaf: Uint8Array;
  readonly idx: number | string;
  /** The first checkpoint with it that a quorum saw. */
  readonly witnessed: string | null;
  readonly served: string;
}

/** Sizes of a few rounds. */
const readersMost = 8;

export class Proofs {
  readonly #readers = new Map<number, TileReader>();

  constructor(
    private readonly parts: Pick<LogParts, 'database' | 'store' | 'key'>,
    private readonly policy: TrustPolicy,
  ) {}

  /**
   * Under the first checkpoint that a quorum saw; while there is none and none is wanted, under the newest.
   * @returns tlog-proofs in the order of what was wanted, null where there is none yet
   */
  async of(wanted: readonly Wanted[]): Promise<(string | null)[]> {
    if (wanted.length === 0) return [];
    const { database, key } = this.parts;
    const rows = await database.query<Row>(
      `SELECT e.leaf, e.idx, l.served, (SELECT w.note FROM log_witnessed w WHERE w.origin = $1 AND w.size > e.idx
         ORDER BY w.size LIMIT 1) AS witnessed
       FROM log_entry e JOIN log l ON l.origin = e.origin
       WHERE e.origin = $1 AND e.leaf = ANY ($2::bytea[]) AND e.idx < l.published`,
      [key.name, bytesArray(wanted.map(({ leaf }) => leaf))],
    );
    const found = new Map(rows.map((row) => [toHex(new Uint8Array(row.leaf)), row]));
    const sizes = new Map<string, number>();
    return Promise.all(
      wanted.map(async ({ leaf, wait }) => {
        const row = found.get(toHex(leaf));
        if (row === undefined || (row.witnessed === null && wait === 'witnessed' && this.policy.quorum !== null)) {
          return null;
        }
        const note = row.witnessed ?? row.served;
        const size = sizes.get(note) ?? parseCheckpoint(note).size;
        sizes.set(note, size);
        return this.#text(Number(row.idx), size, note);
      }),
    );
  }

  async #text(index: number, size: number, note: string): Promise<string> {
    return logProofText(index, await this.readerOf(size).inclusionPath(index, size), note);
  }

  /** Tiles are immutable, so the hashes that one proof read serve the next. */
  readerOf(size: number): TileReader {
    const known = this.#readers.get(size);
    if (known !== undefined) return known;
    const [oldest] = this.#readers.keys();
    if (this.#readers.size >= readersMost) this.#readers.delete(oldest!);
    const reader = new TileReader(this.parts.store.read, size);
    this.#readers.set(size, reader);
    return reader;
  }
}
