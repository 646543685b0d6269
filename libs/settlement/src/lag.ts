/**
 * Nodes behind one endpoint do not learn everything at once: what looks wrong is believed only when it looked so every
 * time, for a while.
 */
const looksMin = 5;
const lagMaxMs = 3_000;

export class Suspicion {
  #looks = 0;
  #since = 0;

  /** @returns whether it has lasted longer than nodes lag */
  lasts(isSeen: boolean): boolean {
    if (!isSeen) {
      this.#looks = 0;
      return false;
    }
    if (this.#looks === 0) this.#since = performance.now();
    this.#looks += 1;
    return this.#looks > looksMin && performance.now() - this.#since > lagMaxMs;
  }
}
