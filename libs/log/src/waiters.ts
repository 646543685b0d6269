/** Who waits for a proof, each for a time of its own; answered together. */
import type { Proofs, Wait } from './proofs.js';

interface Waiter {
  readonly leaf: Uint8Array;
  readonly wait: Wait;
  readonly resolve: (proof: string | null) => void;
}

export class Waiters {
  readonly #all = new Set<Waiter>();

  constructor(private readonly proofs: Proofs) {}

  /** @returns null where it did not come in time */
  wait(leaf: Uint8Array, wait: Wait, withinMs: number): Promise<string | null> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        leaf,
        wait,
        resolve: (proof) => {
          clearTimeout(timer);
          this.#all.delete(waiter);
          resolve(proof);
        },
      };
      const timer = setTimeout(() => waiter.resolve(null), withinMs);
      this.#all.add(waiter);
    });
  }

  /** Gives everybody the proof that there is by now. */
  async answer(): Promise<void> {
    const waiting = [...this.#all];
    const found = await this.proofs.of(waiting);
    waiting.forEach(({ resolve }, at) => {
      const proof = found[at] ?? null;
      if (proof !== null) resolve(proof);
    });
  }

  /** Nobody gets one any more. */
  dismiss(): void {
    for (const { resolve } of this.#all) resolve(null);
  }
}
