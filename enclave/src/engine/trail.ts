/** What guarded tensors reached in the last steps, so that a violation says how fast one grew (libs/step/SPEC.md §7). */
import { growthOf, growthSteps, type Growth } from '#libs/step';

/** One magnitude per step of a call. */
type Magnitudes = (output: string) => Float64Array;

export class Trail {
  /** The step that follows those kept. */
  #next = -1;
  #kept = new Map<string, readonly number[]>();

  /** @param first step of the call @param i which of its steps left the range */
  growth(output: string, magnitudes: Magnitudes, first: number, i: number): Growth | null {
    return growthOf([...this.#before(output, first), ...magnitudes(output).subarray(0, i + 1)]);
  }

  /** Keeps what a call reached that left no range. */
  follow(outputs: readonly string[], magnitudes: Magnitudes, first: number, count: number): void {
    const reached = outputs.map((output): [string, readonly number[]] => {
      const all = [...this.#before(output, first), ...magnitudes(output).subarray(0, count).slice(-growthSteps)];
      return [output, all.slice(-growthSteps)];
    });
    this.#kept = new Map(reached);
    this.#next = first + count;
  }

  #before(output: string, first: number): readonly number[] {
    return first === this.#next ? (this.#kept.get(output) ?? []) : [];
  }
}
