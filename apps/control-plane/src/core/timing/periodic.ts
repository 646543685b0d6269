/** Work that repeats until shutdown, never twice at once; a failure is logged and retried with growing pauses. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#libs/telemetry';

const pauseMillisecondsMax = 10_000;

export class Periodic {
  readonly #abort = new AbortController();
  #wake: (() => void) | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(
    private readonly name: string,
    private readonly milliseconds: number,
    private readonly work: (abort: AbortSignal) => Promise<void>,
    private readonly logger: Logger,
    /** From the start of one turn to the next, however often it is kicked. */
    private readonly leastMilliseconds = 0,
  ) {}

  start(): void {
    this.#ended = this.loop();
  }

  /** Does the work now instead of at the next turn. */
  kick(): void {
    this.#wake?.();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    this.#wake?.();
    await this.#ended;
  }

  private async loop(): Promise<void> {
    let failures = 0;
    while (!this.#abort.signal.aborted) {
      const began = performance.now();
      const woken = this.pause(
        Math.min(this.milliseconds * 2 ** failures, Math.max(pauseMillisecondsMax, this.milliseconds)),
      );
      try {
        await this.work(this.#abort.signal);
        failures = 0;
      } catch (error) {
        failures = Math.min(failures + 1, 10);
        this.logger.warn(`${this.name} failed`, { failures, error });
      }
      await woken;
      const early = this.leastMilliseconds - (performance.now() - began);
      if (early > 1 && !this.#abort.signal.aborted) await sleep(early);
    }
  }

  /** Starts before the work, so that a kick during the work is not lost. */
  private pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#abort.signal.aborted) this.#wake();
    });
  }
}
