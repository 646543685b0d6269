/** The kinds of committed tensors (libs/zk/SPEC.md §4.1). */

/** Kinds with the number that stands for them in digests. */
export const kindCodes = {
  A: 1, M: 2, l: 3, h: 4, G: 5, hp: 6,
  d: 7, hL: 8, eps: 9, sel: 10, GL: 11, w: 12, mu: 13, iota: 14,
  hW: 15, hb: 16, mR: 17, mA: 18, mE: 19, pad: 20,
  W: 21, b: 22, z: 23, X: 24, Y: 25, YL: 26,
  Wn: 27, bn: 28, v: 29, q: 30,
} as const; // prettier-ignore

export type BlockKind = keyof typeof kindCodes;
