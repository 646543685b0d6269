/** A log at work: takes entries, runs rounds, shows checkpoints to witnesses, and answers with proofs. */
import { Rejection, toHex, type CodedError } from '#attestation/base';
import {
  leafHash,
  parseCheckpoint,
  parseEntry,
  trustCheckpoint,
  verifyEntry,
  type TrustPolicy,
} from '#attestation/log';
import { Intake } from './intake.js';
import { Proofs, type Wait } from './proofs.js';
import { openLog, sequence, type LogParts } from './sequencer.js';
import { Waiters } from './waiters.js';
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

/** An entry that a log has taken. */
interface Taken {
  readonly leaf: Uint8Array;
  /** Whether it had it not before. */
  readonly isNew: boolean;
}

const aheadSecondsMost = 300;
const behindSecondsMost = 7 * 86_400;
/** Checkpoints whose cosignatures still come in. */
const gatheredMost = 16;
/** Entries of one issuer: a burst, and each second after it. */
const rate = { burst: 5000, perSecond: 500 };

export class LogService {
  readonly #witnesses: Witnesses;
  readonly #intake: Intake;
  readonly #proofs: Proofs;
  readonly #waiters: Waiters;
  readonly #left = new Map<LogIssuer, { tokens: number; at: number }>();
  /** Signed checkpoints with the cosignatures that this replica was given, by their text. */
  readonly #gathered = new Map<string, string>();
  /** The last one that a quorum saw. */
  #seen = '';
  #stopped: CodedError | null = null;
  #ended = false;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> = Promise.resolve();

  constructor(private readonly options: LogServiceOptions) {
    this.#witnesses = new Witnesses(options.policy);
    this.#intake = new Intake(options.database, options.key.name);
    this.#proofs = new Proofs(options, options.policy);
    this.#waiters = new Waiters(this.#proofs);
  }

  /** @throws ConfigurationError LOG_BEHIND, LOG_FORK */
  async start(): Promise<void> {
    const { key, onFailure } = this.options;
    const seen = await this.#witnesses.latest(key, (witness, why) => onFailure('LOG_WITNESS', `${witness}: ${why}`));
    await openLog(this.options, seen);
    this.#later(this.options.intervalMs);
  }

  /** Rounds begin `intervalMs` after each other, or as soon as the last one is over. */
  #later(pauseMs: number): void {
    this.#timer = setTimeout(() => {
      const began = performance.now();
      this.#round = this.#run().then(() => {
        if (!this.#ended) this.#later(Math.max(1, this.options.intervalMs - (performance.now() - began)));
      });
    }, pauseMs);
  }

  async stop(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#timer ?? undefined);
    await this.#round;
    await this.#witnesses.settled();
    this.#waiters.dismiss();
  }

  /** Null while the log works; else why it publishes nothing any more. */
  get stopped(): CodedError | null {
    return this.#stopped;
  }

  /**
   * Takes an entry, once. One that it has is no other, however old: whoever is told LOG_ENTRY_TIME may make it anew.
   * @throws Rejection LOG_ENTRY_*, LOG_ISSUER, LOG_RATE, COSE_*, CBOR_*, MESSAGE_*; CollateralError LOG_BUSY
   */
  async submit(entry: Uint8Array): Promise<Taken> {
    if (this.#stopped !== null) throw this.#stopped;
    const { kid, kind, issuer } = parseEntry(entry);
    const known = this.options.issuers.find((one) => Buffer.compare(one.publicKey, kid) === 0);
    if (known === undefined || known.name !== issuer) throw issuerFault('a key and name that this log lists', entry);
    if (!known.kinds.includes(kind)) throw issuerFault(`one of ${known.kinds.join(', ')} by this key`, entry);
    const { at } = await verifyEntry(entry, known.publicKey);
    this.#take(known);
    const leaf = leafHash(entry);
    const [from, to] = [this.options.now() - behindSecondsMost, this.options.now() + aheadSecondsMost];
    if ((at < from || at > to) && !(await this.isKnown(leaf))) {
      throw entryFault('LOG_ENTRY_TIME', `a time from ${from} to ${to}`, `${at}`);
    }
    return { leaf, isNew: await this.#intake.add(leaf, entry) };
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
    const [proof] = await this.#proofs.of([{ leaf, wait }]);
    return proof ?? null;
  }

  /** `proof`, waited for. @returns null where it did not come in time */
  async proofWithin({ leaf, isNew }: Taken, wait: Wait, withinMs: number): Promise<string | null> {
    const proof = isNew ? null : await this.proof(leaf, wait);
    return proof ?? this.#waiters.wait(leaf, wait, withinMs);
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
    return this.#proofs.readerOf(size).consistencyPath(from, to);
  }

  async #run(): Promise<void> {
    try {
      await sequence(this.options);
      await this.#show();
    } catch (error) {
      this.#fail(error);
    }
    await this.#wake();
  }

  #fail(error: unknown): void {
    const code = error instanceof Rejection ? error.code : 'LOG_ROUND';
    if (error instanceof Rejection && error.code === 'LOG_ROOT') this.#stopped = error;
    this.options.onFailure(code, error instanceof Error ? error.message : String(error));
  }

  async #wake(): Promise<void> {
    await this.#waiters.answer().catch((error: unknown) => this.#fail(error));
  }

  /** Shows the newest checkpoint to witnesses unless a quorum saw it. */
  async #show(): Promise<void> {
    const { policy } = this.options;
    if (this.#stopped !== null || policy.quorum === null) return;
    const served = await this.checkpoint();
    if (served === this.#seen) return;
    const checkpoint = parseCheckpoint(served);
    if (checkpoint.size === 0) return;
    if (trustCheckpoint(checkpoint, policy).witnessedAt !== null) {
      this.#seen = served;
      return;
    }
    this.#witnesses.show(served, this.#proofs.readerOf(checkpoint.size), {
      onLine: (line) => this.#keepLine(served, line),
      onFailure: (witness, why) => this.options.onFailure('LOG_WITNESS', `${witness}: ${why}`),
    });
  }

  async #keepLine(served: string, line: string): Promise<void> {
    const { database, key, policy } = this.options;
    const { text } = parseCheckpoint(served).note;
    const note = (this.#gathered.get(text) ?? served) + line;
    this.#gathered.set(text, note);
    const [oldest] = this.#gathered.keys();
    if (this.#gathered.size > gatheredMost) this.#gathered.delete(oldest!);
    const { checkpoint, witnessedAt } = trustCheckpoint(parseCheckpoint(note), policy);
    if (witnessedAt !== null) {
      await database.query(
        'INSERT INTO log_witnessed (origin, size, note) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [...[key.name, checkpoint.size, note]],
      );
      await this.#wake();
    }
    await this.#serve(text, line);
  }

  /** Adds a line to the checkpoint that is served, unless a newer one is by now. No lock is held while it is looked at. */
  async #serve(text: string, line: string): Promise<void> {
    const { database, key } = this.options;
    for (;;) {
      const newest = await this.checkpoint();
      if (parseCheckpoint(newest).note.text !== text || newest.includes(line)) return;
      const set = await database.query(
        'UPDATE log SET served = $2 WHERE origin = $1 AND served = $3 RETURNING origin',
        [key.name, newest + line, newest],
      );
      if (set.length > 0) return;
    }
  }
}

function issuerFault(expected: string, entry: Uint8Array): Rejection {
  const { kind, issuer, kid } = parseEntry(entry);
  return new Rejection('LOG_ISSUER', {
    ...{ expected, got: `${kind} by ${issuer}, ${toHex(kid)}`, rule: 'apps/log/README.md' },
    action: `whoever runs the log adds the key, or the kind ${kind}, to "issuers" of its settings`,
  });
}

function entryFault(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'attestation/LOG.md §1' });
}
