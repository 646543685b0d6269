/** What is known of the tensors of a graph, by name and back. */
import { isConstant } from './constant.js';
import type { Value } from './draft.js';
import type { Known } from './rule.js';

export class KnownTensors {
  readonly #byName = new Map<string, Known>();
  readonly #names = new Map<Value, string[]>();

  get(name: string): Known | undefined {
    return this.#byName.get(name);
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  set(name: string, known: Known): void {
    this.#byName.set(name, known);
    if (isConstant(known)) return;
    const names = this.#names.get(known);
    if (names === undefined) this.#names.set(known, [name]);
    else names.push(name);
  }

  /** Names of one and the same value: an Identity gives it another. */
  namesOf(value: Value): readonly string[] {
    return this.#names.get(value) ?? [];
  }
}
