/** How many streams of events one key follows, and all of them; and what of a key still waits for an answer. */
import { Inject, Injectable } from '@nestjs/common';
import type { Metrics } from '#libs/telemetry';
import type { Config } from '../config/config.js';
import { CONFIG, METRICS } from '../config/tokens.js';
import { refusal } from '../problem/codes.js';
import { streamsMax } from './limits.js';

@Injectable()
export class Streams {
  /** How to end each stream of a key. */
  readonly #byKey = new Map<string, Set<() => void>>();
  /** The same of those whose followers signed in to the console. */
  readonly #bySession = new Map<string, Set<() => void>>();
  /** How to end each wait of a key; they are short, and bounded where they come in. */
  readonly #waits = new Map<string, Set<() => void>>();
  #all = 0;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  get count(): number {
    return this.#all;
  }

  /** Keys that follow something, or wait for it. */
  get keyIds(): readonly string[] {
    return [...new Set([...this.#byKey.keys(), ...this.#waits.keys()])];
  }

  /** Sessions of the console that follow something. */
  get sessions(): readonly string[] {
    return [...this.#bySession.keys()];
  }

  endSession(digest: string): void {
    for (const end of [...(this.#bySession.get(digest) ?? [])]) end();
  }

  /** Ends what the key follows and waits for. */
  end(keyId: string): void {
    for (const end of [...(this.#byKey.get(keyId) ?? []), ...(this.#waits.get(keyId) ?? [])]) end();
  }

  /** @param work  given a signal that is set when the caller has gone, or its key is refused from now on */
  async wait<T>(keyId: string, gone: AbortSignal, work: (over: AbortSignal) => Promise<T>): Promise<T> {
    const over = new AbortController();
    const end = (): void => over.abort();
    const own = this.#waits.get(keyId) ?? new Set();
    this.#waits.set(keyId, own.add(end));
    gone.addEventListener('abort', end, { once: true });
    if (gone.aborted) end();
    try {
      return await work(over.signal);
    } finally {
      gone.removeEventListener('abort', end);
      own.delete(end);
      if (own.size === 0 && this.#waits.get(keyId) === own) this.#waits.delete(keyId);
    }
  }

  /**
   * Counts one more until what it returns is called.
   * @param end  called when the key is refused from now on, or the session has ended
   * @param session  of whoever signed in to the console
   * @throws Rejection STREAMS_MAX
   */
  enter(keyId: string, end: () => void = () => undefined, session?: string): () => void {
    const own = this.#byKey.get(keyId) ?? new Set();
    if (own.size >= this.config.streamsPerKeyMax) throw this.full(`${this.config.streamsPerKeyMax} streams of one key`);
    if (this.#all >= streamsMax) throw this.full(`${streamsMax} streams of this replica`);
    const entry = (): void => end();
    this.#byKey.set(keyId, own.add(entry));
    if (session !== undefined) this.#bySession.set(session, (this.#bySession.get(session) ?? new Set()).add(entry));
    this.metrics.streams.set((this.#all += 1));
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.metrics.streams.set((this.#all -= 1));
      own.delete(entry);
      if (own.size === 0 && this.#byKey.get(keyId) === own) this.#byKey.delete(keyId);
      if (session === undefined) return;
      const ofSession = this.#bySession.get(session);
      ofSession?.delete(entry);
      if (ofSession?.size === 0) this.#bySession.delete(session);
    };
  }

  private full(most: string) {
    this.metrics.refused.inc({ reason: 'streams' });
    return refusal('STREAMS_MAX', {
      expected: `at most ${most}`,
      got: 'one more',
      rule: 'apps/control-plane/README.md, overload',
      action: 'End some first, or read the events of a job in pages of its stream one job after the other.',
    });
  }
}
