/** Ways to spoil bytes, which every target shares. All of them draw from one seed and leave their input alone. */
import { equalBytes } from '#attestation/base';
import type { Draw } from './random.js';

/** @param other a genuine input of the same kind, to take parts from */
type Mutation = (bytes: Uint8Array, draw: Draw, other: Uint8Array) => Uint8Array;

const special = [0, 1, 0x7f, 0x80, 0xff];

const mutations: readonly Mutation[] = [
  flipped,
  (bytes, draw) => altered(bytes, draw(bytes.length), () => special[draw(special.length)]!),
  (bytes, draw) => altered(bytes, lastOfWord(bytes, draw), (byte) => byte + [1, 2, 0xff, 0x80][draw(4)]!),
  truncated,
  extended,
  shortened,
  (bytes, draw) => swapped(bytes, 1 + draw(Math.min(64, bytes.length)), draw),
  (bytes, draw, other) => spliced(bytes, draw, other, 64),
  (bytes, draw) => {
    const from = draw(bytes.length);
    return Uint8Array.from(bytes).fill(special[draw(special.length)]!, from, from + 1 + draw(16));
  },
];

/** Where a number of an ABI word, big-endian and 32 bytes, has its low byte. */
function lastOfWord(bytes: Uint8Array, draw: Draw): number {
  return Math.min(bytes.length, 32 * (1 + draw(Math.ceil(bytes.length / 32)))) - 1;
}

export function altered(bytes: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at] = change(copy[at]!);
  return copy;
}

export function flipped(bytes: Uint8Array, draw: Draw): Uint8Array {
  return altered(bytes, draw(bytes.length), (byte) => byte ^ (1 << draw(8)));
}

export function truncated(bytes: Uint8Array, draw: Draw): Uint8Array {
  return Uint8Array.from(bytes.subarray(0, draw(bytes.length)));
}

export function extended(bytes: Uint8Array, draw: Draw): Uint8Array {
  return Uint8Array.of(...bytes, ...Uint8Array.from({ length: 1 + draw(64) }, () => draw(256)));
}

/** Without some bytes within. */
export function shortened(bytes: Uint8Array, draw: Draw): Uint8Array {
  const at = draw(bytes.length);
  const until = Math.min(bytes.length, at + 1 + draw(64));
  return Uint8Array.of(...bytes.subarray(0, at), ...bytes.subarray(until));
}

/** Two runs of `size` bytes, at multiples of it, in each other's place. */
export function swapped(bytes: Uint8Array, size: number, draw: Draw): Uint8Array {
  const places = Math.floor(bytes.length / size);
  return exchanged(bytes, size * draw(places), size * draw(places), size);
}

/** A run of `other` over the same place, or over another. */
export function spliced(bytes: Uint8Array, draw: Draw, other: Uint8Array, sizeMax: number): Uint8Array {
  const from = draw(Math.min(bytes.length, other.length));
  const to = draw(2) === 0 ? from : draw(bytes.length);
  const run = other.subarray(from, Math.min(from + 1 + draw(sizeMax), from + bytes.length - to));
  const copy = Uint8Array.from(bytes);
  copy.set(run, to);
  return copy;
}

export function copied(bytes: Uint8Array, from: number, to: number, length: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy.set(bytes.subarray(from, from + length), to);
  return copy;
}

export function exchanged(bytes: Uint8Array, a: number, b: number, length: number): Uint8Array {
  const copy = copied(bytes, a, b, length);
  copy.set(bytes.subarray(b, b + length), a);
  return copy;
}

/** One to three mutations after each other; never the input itself. Of no bytes: some bytes. */
export function mutantOf(input: Uint8Array, draw: Draw, other: Uint8Array = input): Uint8Array {
  if (input.length === 0) return extended(input, draw);
  for (;;) {
    let mutant: Uint8Array = Uint8Array.from(input);
    for (let round = 1 + draw(3); round > 0 && mutant.length > 0; round--) {
      mutant = mutations[draw(mutations.length)]!(mutant, draw, other);
    }
    if (!equalBytes(mutant, input)) return mutant;
  }
}
