/** Deterministic test values, edges of the field and of 32-bit limbs included. */
import type { Ext } from '../../field/extension.js';
import { P } from '../../field/goldilocks.js';

const EDGES = [0n, 1n, 7n, 0xffffffffn, 0x100000000n, 0x7fffffffffffffffn, 0x8000000000000000n, P - 2n, P - 1n];
const WORD = 2n ** 64n;

/** Generator of field elements: an edge value every third time on average (splitmix64). */
export function sampler(seed: number): () => bigint {
  let state = BigInt(seed);
  const word = (): bigint => {
    state = (state + 0x9e3779b97f4a7c15n) % WORD;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) % WORD;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) % WORD;
    return z ^ (z >> 31n);
  };
  return () => (word() % 3n === 0n ? EDGES[Number(word() % BigInt(EDGES.length))]! : word() % P);
}

export function sampleBase(seed: number, count: number): bigint[] {
  const next = sampler(seed);
  return Array.from({ length: count }, next);
}

export function sampleExt(seed: number, count: number): Ext[] {
  const next = sampler(seed);
  return Array.from({ length: count }, () => ({ c0: next(), c1: next() }));
}
