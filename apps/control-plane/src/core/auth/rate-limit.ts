/**
 * Counts calls in a window that slides over two fixed ones: those of the present minute, and of the one before as far as
 * it still lies within the last sixty seconds, taken as evenly spread.
 */
const windowMilliseconds = 60_000;
/** Subjects that are told apart in one window; beyond, whoever comes new shares one count. */
const subjectsMax = 100_000;
const others = '';

export class RateLimit {
  #window = 0;
  #now = new Map<string, number>();
  #before = new Map<string, number>();

  /**
   * @param at  monotonic milliseconds
   * @returns seconds to wait; 0 when the call is within the limit, and counted
   */
  take(subject: string, limit: number, at: number): number {
    this.turn(Math.floor(at / windowMilliseconds));
    const name = this.#now.size >= subjectsMax && !this.#now.has(subject) ? others : subject;
    const passed = (at % windowMilliseconds) / windowMilliseconds;
    const now = this.#now.get(name) ?? 0;
    const before = this.#before.get(name) ?? 0;
    if (now + before * (1 - passed) < limit) {
      this.#now.set(name, now + 1);
      return 0;
    }
    // When enough of the window before has slid away; a full present window has to become the one before.
    const wanted = now >= limit ? 1 + (1 - limit / now) : 1 - (limit - now) / before;
    return Math.max(1, Math.ceil(((wanted - passed) * windowMilliseconds) / 1000));
  }

  private turn(window: number): void {
    if (window === this.#window) return;
    this.#before = window === this.#window + 1 ? this.#now : new Map();
    this.#now = new Map();
    this.#window = window;
  }
}
