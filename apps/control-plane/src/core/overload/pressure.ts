/**
 * How far behind this process is: the delay of its event loop, and statements that wait for the database. Up is taken at
 * once, down step by step after a quiet second, so that a level does not flicker.
 */
const samplesKept = 5;
const quietSamples = 10;

export const shedLevels = ['none', 'reads', 'low-priority', 'submissions'] as const;
export type ShedLevel = 0 | 1 | 2 | 3;

interface PressureLimits {
  /** Mean delay of the event loop, milliseconds, at which background reads are shed; twice and four times that for more. */
  readonly delayMilliseconds: number;
  /** The same for statements that wait. */
  readonly waiting: number;
}

export class Pressure {
  readonly #delays: number[] = [];
  #quiet = 0;
  #level: ShedLevel = 0;

  constructor(private readonly limits: PressureLimits) {}

  get level(): ShedLevel {
    return this.#level;
  }

  /** @param delay  milliseconds by which a timer came late. @param waiting  statements without a connection */
  sample(delay: number, waiting: number): ShedLevel {
    this.#delays.push(delay);
    if (this.#delays.length > samplesKept) this.#delays.shift();
    const mean = this.#delays.reduce((sum, value) => sum + value, 0) / samplesKept;
    const load = Math.max(mean / this.limits.delayMilliseconds, waiting / this.limits.waiting);
    const wanted: ShedLevel = load >= 4 ? 3 : load >= 2 ? 2 : load >= 1 ? 1 : 0;
    if (wanted >= this.#level) {
      this.#level = wanted;
      this.#quiet = 0;
    } else if ((this.#quiet += 1) >= quietSamples) {
      this.#level = (this.#level - 1) as ShedLevel;
      this.#quiet = 0;
    }
    return this.#level;
  }
}
