/** Record shuffle of the data owner (libs/step/SPEC.md §9), done once before committing. */
import { below, wordStream } from './random.js';

/** @returns for each place in the shuffled order the index of the record that stands there; length n */
export function shuffledIndices(seed: Uint8Array | string, n: number): Uint32Array {
  const word = wordStream('fxt/shuffle/v1', seed);
  const r = Uint32Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i >= 1; i--) {
    const j = Number(below(word(n - 1 - i), BigInt(i + 1)));
    const moved = r[i]!;
    r[i] = r[j]!;
    r[j] = moved;
  }
  return r;
}
