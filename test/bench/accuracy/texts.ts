/** Texts as windows of characters. */
import { shuffledIndices, type NetExamples } from '#libs/step';

/** Frequent characters are tokens of their own; the last token stands for all others. */
export class Characters {
  readonly #tokens: ReadonlyMap<string, number>;

  constructor(
    text: string,
    readonly vocab: number,
  ) {
    const counts = new Map<string, number>();
    for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
    const byCount = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
    this.#tokens = new Map(byCount.slice(0, vocab - 1).map(([character], token) => [character, token]));
  }

  tokens(text: string): Int32Array {
    return Int32Array.from(text, (character) => this.#tokens.get(character) ?? this.vocab - 1);
  }
}

/** Windows of T + 1 tokens side by side: T features, and the token after each. @param seed absent: in the text's order */
export function windows(tokens: Int32Array, T: number, seed?: string): NetExamples {
  const count = Math.floor((tokens.length - 1) / T);
  const order = seed === undefined ? Uint32Array.from({ length: count }, (_, i) => i) : shuffledIndices(seed, count);
  const cut = (ahead: number) => {
    const all = new Int32Array(count * T);
    order.forEach((from, to) => all.set(tokens.subarray(from * T + ahead, (from + 1) * T + ahead), to * T));
    return all;
  };
  return { count, features: cut(0), labels: cut(1) };
}
