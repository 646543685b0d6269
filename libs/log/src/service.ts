/** A log at work: takes entries, runs rounds, shows checkpoints to witnesses, and answers with proofs. */
import { CollateralError, Rejection, toHex, type CodedError } from '#attestation/base';
import {
  leafHash,
  logProofText,
  parseCheckpoint,
  parseEntry,
  trustCheckpoint,
  verifyEntry,
  type TrustPolicy,
} from '#attestation/log';
import { openLog, sequence, type LogParts } from './sequencer.js';
import { TileReader } from './tiles/reader.js';
import { Witnesses } from './witnesses.js';

export interface LogIssuer {
  readonly name: string;
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly kinds: readonly string[];
}

interface LogServiceOptions extends LogParts {
  readonly issuers: readonly LogIssuer[];
  /** Its own key as `log`, and the witnesses that it shows its checkpoints to. */
  readonly policy: TrustPolicy;
  readonly intervalMs: number;
  /** Unix seconds. */
  readonly now: () => number;
  readonly onFailure: (code: string, why: string) => void;
}

export type Wait = 'integrated' | 'witnessed';

interface Waiter {
  readonly leaf: Uint8Array;
  readonly wait: Wait;
  readonly resolve: (proof: string | null) => void;
}

const aheadSecondsMost = 300;
const behindSecondsMost = 7 * 86_400;
const pendingMost = 50_000;
const witnessAgainMs = 2000;
/** Entries of one issuer: a burst, and each second after it. */
const rate = { burst: 5000, perSecond: 500 };

export class LogService {
  readonly #witnesses: Witnesses;
  readonly #waiters = new Set<Waiter>();
  readonly #left = new Map<LogIssuer, { tokens: number; at: number }>();
  #reader: TileReader | null = null;
  #shown = { note: '', at: 0 };
  #stopped: CodedError | null = null;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> = Promise.resolve();

  constructor(private readonly options: LogServiceOptions) {
    this.#witnesses = new Witnesses(options.policy);
  }

  /** @throws ConfigurationError LOG_BEHIND, LOG_FORK */
  async start(): Promise<void> {
    const { key, onFailure } = this.options;
    const seen = await this.#witnesses.latest(key.name, (witness, why) =>
      onFailure('LOG_WITNESS', `${witness}: ${why}`),
    );
    await openLog(this.options, seen);
    const again = (): void => {
      this.#timer = setTimeout(() => {
        this.#round = this.#run().then(again);
      }, this.options.intervalMs);
    };
    again();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    await this.#round;
    clearTimeout(this.#timer ?? undefined);
    for (const { resolve } of this.#waiters) resolve(null);
  }

  /** Null while the log works; else why it publishes nothing any more. */
  get stopped(): CodedError | null {
    return this.#stopped;
  }

  /**
   * Takes an entry, once. One that it has is no other, however old: whoever is told LOG_ENTRY_TIME may make it anew.
   * @returns its leaf
   * @throws Rejection LOG_ENTRY_*, LOG_ISSUER, LOG_RATE, COSE_*, CBOR_*, MESSAGE_*; CollateralError LOG_BUSY
   */
  async submit(entry: Uint8Array): Promise<Uint8Array> {
    if (this.#stopped !== null) throw this.#stopped;
    const { kid, kind, issuer } = parseEntry(entry);
    const known = this.options.issuers.find((one) => Buffer.compare(one.publicKey, kid) === 0);
    if (known === undefined || known.name !== issuer || !known.kinds.includes(kind)) {
      throw entryFault('LOG_ISSUER', 'an issuer and kind that this log takes', `${kind} by ${issuer}, ${toHex(kid)}`);
    }
    const { at } = await verifyEntry(entry, known.publicKey);
    this.#take(known);
    const leaf = leafHash(entry);
    const [from, to] = [this.options.now() - behindSecondsMost, this.options.now() + aheadSecondsMost];
    if ((at < from || at > to) && !(await this.isKnown(leaf))) {
      throw entryFault('LOG_ENTRY_TIME', `a time from ${from} to ${to}`, `${at}`);
    }
    const { database, key } = this.options;
    const [{ count } = { count: 0 }] = await database.query<{ count: number | string }>(
      'SELECT count(*) AS count FROM (SELECT 1 FROM log_pending WHERE origin = $1 LIMIT $2) AS waiting',
      [key.name, pendingMost],
    );
    if (Number(count) >= pendingMost) throw busy(`fewer than ${pendingMost} entries that wait`, String(count));
    await database.query(
      `INSERT INTO log_pending (origin, leaf, entry) SELECT $1, $2::bytea, $3::bytea
       WHERE NOT EXISTS (SELECT 1 FROM log_entry WHERE origin = $1 AND leaf = $2::bytea) ON CONFLICT DO NOTHING`,
      [key.name, Buffer.from(leaf), Buffer.from(entry)],
    );
    return leaf;
  }

  #take(issuer: LogIssuer): void {
    const now = performance.now();
    const last = this.#left.get(issuer) ?? { tokens: rate.burst, at: now };
    const tokens = Math.min(rate.burst, last.tokens + ((now - last.at) / 1000) * rate.perSecond) - 1;
    if (tokens < 0) throw entryFault('LOG_RATE', `at most ${rate.perSecond} entries a second of an issuer`, 'more');
    this.#left.set(issuer, { tokens, at: now });
  }

  /** Whether the entry is known, with a proof or still without. */
  async isKnown(leaf: Uint8Array): Promise<boolean> {
    const rows = await this.options.database.query(
      `SELECT 1 FROM log_pending WHERE origin = $1 AND leaf = $2 UNION ALL
       SELECT 1 FROM log_entry WHERE origin = $1 AND leaf = $2`,
      [this.options.key.name, Buffer.from(leaf)],
    );
    return rows.length > 0;
  }

  /** The proof under the first checkpoint that a quorum saw; while there is none and none is wanted, under the newest. */
  async proof(leaf: Uint8Array, wait: Wait): Promise<string | null> {
    const { database, key, policy } = this.options;
    const [found] = await database.query<{ idx: number | string; note: string | null; served: string }>(
      `SELECT e.idx, l.served, (SELECT w.note FROM log_witnessed w WHERE w.origin = $1 AND w.size > e.idx
         ORDER BY w.size LIMIT 1) AS note
       FROM log_entry e JOIN log l ON l.origin = e.origin
       WHERE e.origin = $1 AND e.leaf = $2 AND e.idx < l.published`,
      [key.name, Buffer.from(leaf)],
    );
    if (found === undefined || (found.note === null && wait === 'witnessed' && policy.quorum !== null)) return null;
    const note = found.note ?? found.served;
    const index = Number(found.idx);
    const { size } = parseCheckpoint(note);
    return logProofText(index, await this.#readerOf(size).inclusionPath(index, size), note);
  }

  /** `proof`, waited for. @returns null where it did not come in time */
  async proofWithin(leaf: Uint8Array, wait: Wait, withinMs: number): Promise<string | null> {
    const proof = await this.proof(leaf, wait);
    if (proof !== null) return proof;
    return new Promise((resolve) => {
      const waiter: Waiter = {
        leaf,
        wait,
        resolve: (value) => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          resolve(value);
        },
      };
      const timer = setTimeout(() => waiter.resolve(null), withinMs);
      this.#waiters.add(waiter);
    });
  }

  /** The newest published checkpoint with all cosignatures: the row, which no replica that was asleep can set back. */
  async checkpoint(): Promise<string> {
    const rows = await this.options.database.query<{ served: string }>('SELECT served FROM log WHERE origin = $1', [
      this.options.key.name,
    ]);
    return rows[0]!.served;
  }

  /** @throws Rejection LOG_PROOF where the log is not that large */
  async consistency(from: number, to: number): Promise<Uint8Array[]> {
    const { size } = parseCheckpoint(await this.checkpoint());
    if (from < 1 || from > to || to > size) throw entryFault('LOG_PROOF', `1 ≤ from ≤ to ≤ ${size}`, `${from}, ${to}`);
    return this.#readerOf(size).consistencyPath(from, to);
  }

  async #run(): Promise<void> {
    try {
      while (await sequence(this.options)) await this.#witness();
      await this.#witness();
    } catch (error) {
      this.#fail(error);
    }
    await this.#wake().catch((error: unknown) => this.#fail(error));
  }

  #fail(error: unknown): void {
    const code = error instanceof Rejection ? error.code : 'LOG_ROUND';
    if (error instanceof Rejection && error.code === 'LOG_ROOT') this.#stopped = error;
    this.options.onFailure(code, error instanceof Error ? error.message : String(error));
  }

  /** Shows the newest checkpoint to witnesses unless a quorum saw it, or this replica just tried. */
  async #witness(): Promise<void> {
    const { policy, store } = this.options;
    if (this.#stopped !== null || policy.quorum === null) return;
    const served = await this.checkpoint();
    const checkpoint = parseCheckpoint(served);
    if (checkpoint.size === 0 || trustCheckpoint(checkpoint, policy).witnessedAt !== null) return;
    const isNew = this.#shown.note !== checkpoint.note.text;
    if (!isNew && performance.now() - this.#shown.at < witnessAgainMs) return;
    this.#shown = { note: checkpoint.note.text, at: performance.now() };
    const { lines, failures } = await this.#witnesses.show(served, new TileReader(store.read, checkpoint.size));
    for (const { witness, why } of failures) this.options.onFailure('LOG_WITNESS', `${witness}: ${why}`);
    if (lines !== '') await this.#keepLines(served, lines);
  }

  async #keepLines(served: string, lines: string): Promise<void> {
    const { database, key, policy } = this.options;
    await database.transaction(async (sql) => {
      const rows = await sql.query<{ served: string }>('SELECT served FROM log WHERE origin = $1 FOR UPDATE', [
        key.name,
      ]);
      const newest = rows[0]!.served;
      const isSame = parseCheckpoint(newest).note.text === parseCheckpoint(served).note.text;
      const note = (isSame ? newest : served) + lines;
      const { checkpoint, witnessedAt } = trustCheckpoint(parseCheckpoint(note), policy);
      if (isSame) await sql.query('UPDATE log SET served = $2 WHERE origin = $1', [key.name, note]);
      if (witnessedAt === null) return;
      await sql.query('INSERT INTO log_witnessed (origin, size, note) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
        key.name,
        checkpoint.size,
        note,
      ]);
    });
  }

  async #wake(): Promise<void> {
    for (const waiter of this.#waiters) {
      const proof = await this.proof(waiter.leaf, waiter.wait);
      if (proof !== null) waiter.resolve(proof);
    }
  }

  /** Tiles are immutable, so the hashes that one proof read serve the next. */
  #readerOf(size: number): TileReader {
    if (this.#reader?.size !== size) this.#reader = new TileReader(this.options.store.read, size);
    return this.#reader;
  }
}

function entryFault(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'attestation/LOG.md §1' });
}

function busy(expected: string, got: string): CollateralError {
  return new CollateralError('LOG_BUSY', { expected, got, rule: 'libs/log/README.md', action: 'wait, and try again' });
}
