/** How many streams of events one key follows, and all of them. */
import { Inject, Injectable } from '@nestjs/common';
import type { Metrics } from '#libs/telemetry';
import type { Config } from '../config.js';
import { refusal } from '../problem/codes.js';
import { CONFIG, METRICS } from '../tokens.js';
import { streamsMax } from './limits.js';

@Injectable()
export class Streams {
  /** How to end each stream of a key. */
  readonly #byKey = new Map<string, Set<() => void>>();
  #all = 0;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  get count(): number {
    return this.#all;
  }

  /** Keys that follow something. */
  get keyIds(): readonly string[] {
    return [...this.#byKey.keys()];
  }

  /** Ends what the key follows. */
  end(keyId: string): void {
    for (const end of [...(this.#byKey.get(keyId) ?? [])]) end();
  }

  /**
   * Counts one more until what it returns is called.
   * @param end  called when the key is refused from now on
   * @throws Rejection STREAMS_MAX
   */
  enter(keyId: string, end: () => void = () => undefined): () => void {
    const own = this.#byKey.get(keyId) ?? new Set();
    if (own.size >= this.config.streamsPerKeyMax) throw this.full(`${this.config.streamsPerKeyMax} streams of one key`);
    if (this.#all >= streamsMax) throw this.full(`${streamsMax} streams of this replica`);
    const entry = (): void => end();
    this.#byKey.set(keyId, own.add(entry));
    this.metrics.streams.set((this.#all += 1));
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.metrics.streams.set((this.#all -= 1));
      own.delete(entry);
      if (own.size === 0 && this.#byKey.get(keyId) === own) this.#byKey.delete(keyId);
    };
  }

  private full(most: string) {
    this.metrics.refused.inc({ reason: 'streams' });
    return refusal('STREAMS_MAX', {
      expected: `at most ${most}`,
      got: 'one more',
      rule: 'control-plane README, overload',
      action: 'End some first, or read the events of a job in pages of its stream one job after the other.',
    });
  }
}
