import { expect, it } from 'vitest';
import { blake3Many, blake3ManyReference, compiledBlake3Many } from './blake3.js';

const bytes = (count: number, seed: number): Uint8Array =>
  Uint8Array.from({ length: count }, (_, i) => (i * 37 + seed * 101 + (i >> 5)) % 256);
const key = bytes(32, 1);

it('is compiled here', () => {
  expect(compiledBlake3Many()).toBeDefined();
  expect(blake3Many).not.toBe(blake3ManyReference);
});

// Around the borders of blocks and chunks, and more than the module's memory holds.
it.each([
  ...[1, 5, 7, 8, 9, 127, 128, 129, 255, 256, 257, 640].flatMap((words) => [1, 3, 4, 6].map((count) => [words, count])),
  [300, 200],
  [40_000, 2],
])('hashes %i words, %i messages, as the reference does', (words, count) => {
  const messages = bytes(8 * words! * count!, count!);
  expect(blake3Many(key, messages, count!)).toEqual(blake3ManyReference(key, messages, count!));
});
