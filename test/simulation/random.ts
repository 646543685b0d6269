/** A seeded generator (xoshiro128**): the same seed gives the same run. */

export class Random {
  readonly #state: Uint32Array;

  constructor(seed: number) {
    // splitmix32 spreads the seed over the state.
    let mixed = seed >>> 0;
    this.#state = Uint32Array.from({ length: 4 }, () => {
      mixed = (mixed + 0x9e3779b9) >>> 0;
      let word = mixed ^ (mixed >>> 16);
      word = Math.imul(word, 0x21f0aaad);
      word ^= word >>> 15;
      word = Math.imul(word, 0x735a2d97);
      return (word ^ (word >>> 15)) >>> 0;
    });
  }

  /** An independent generator, so that one party's draws do not shift another's. */
  fork(): Random {
    return new Random(this.word());
  }

  /** In [0, 2^32). */
  word(): number {
    const s = this.#state;
    const product = Math.imul(s[1]!, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = s[1]! << 9;
    s[2]! ^= s[0]!;
    s[3]! ^= s[1]!;
    s[1]! ^= s[2]!;
    s[0]! ^= s[3]!;
    s[2]! ^= shifted;
    s[3] = (s[3]! << 11) | (s[3]! >>> 21);
    return result;
  }

  /** In [0, 1). */
  fraction(): number {
    return this.word() / 2 ** 32;
  }

  /** In [low, high]. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  /** Milliseconds or another quantity around `mean`, exponentially distributed. */
  around(mean: number): number {
    return -mean * Math.log(1 - this.fraction());
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.whole(0, items.length - 1)]!;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.word() & 0xff);
  }
}
