/** How many streams of events one key follows, and all of them. */
import { Inject, Injectable } from '@nestjs/common';
import type { Metrics } from '#libs/telemetry';
import type { Config } from '../config.js';
import { refusal } from '../problem/codes.js';
import { CONFIG, METRICS } from '../tokens.js';
import { streamsMax } from './limits.js';

@Injectable()
export class Streams {
  readonly #byKey = new Map<string, number>();
  #all = 0;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  get count(): number {
    return this.#all;
  }

  /** Counts one more until what it returns is called. @throws Rejection STREAMS_MAX */
  enter(keyId: string): () => void {
    const own = this.#byKey.get(keyId) ?? 0;
    if (own >= this.config.streamsPerKeyMax) throw this.full(`${this.config.streamsPerKeyMax} streams of one key`);
    if (this.#all >= streamsMax) throw this.full(`${streamsMax} streams of this replica`);
    this.#byKey.set(keyId, own + 1);
    this.metrics.streams.set((this.#all += 1));
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.metrics.streams.set((this.#all -= 1));
      const left = this.#byKey.get(keyId)! - 1;
      if (left === 0) this.#byKey.delete(keyId);
      else this.#byKey.set(keyId, left);
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
