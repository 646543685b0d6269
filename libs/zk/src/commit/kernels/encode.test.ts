import { describe, expect, it } from 'vitest';
import { P } from '../field/goldilocks.js';
import { createEngine } from './index.js';
import { domainPoint, encodeRow, evaluateRow } from './reference/encode.js';
import { sampleBase } from './reference/samples.js';

const { memory, kernels, roots } = createEngine({ rowLogMax: 12 });

function encode(messages: bigint[][], random: bigint[][], m: number, logBlowup: number, cosets = 2): bigint[][] {
  const mark = memory.mark();
  const domain = 2 ** (m + logBlowup);
  const at = memory.placeTable(messages.map((message) => memory.place(message)));
  const tail = memory.placeTable(random.map((words) => memory.place(words)));
  const codewords = messages.map(() => memory.allocate(8 * domain));
  const out = memory.placeTable(codewords);
  for (let coset = 0; coset < 2 ** logBlowup; coset += cosets) {
    kernels.encodeRows(at, tail, random[0]!.length, m, m + logBlowup, 0, messages.length, coset, cosets, roots, out);
  }
  const rows = codewords.map((codeword) => [...memory.words(codeword, domain)]);
  memory.release(mark);
  return rows;
}

describe('row encoding', () => {
  it('has the vector of the specification', () => {
    expect(encode([[1n, 2n, 3n, 4n]], [[5n]], 2, 1)[0]).toEqual([
      0x34e3n,
      0x2a0fn,
      0xfab1ffff00002e54n,
      0x54e000000002e53n,
      0x8da3fff2052d1cn,
      0x985c000dfa751cn,
      0xff6cf1f9a3ffdf1dn,
      0xff6d0e045bffc31dn,
    ]);
  });

  it.each([1, 2, 3, 4, 5, 6, 7])('equals Horner at every point for m = %i', (m) => {
    for (const logBlowup of [1, 2]) {
      const messages = [1, 2, 3].map((seed) => sampleBase(100 * m + seed, 2 ** m));
      for (const t of [0, 1, 2 ** m]) {
        const random = [4, 5, 6].map((seed) => sampleBase(100 * m + seed, t));
        const expected = messages.map((message, i) => encodeRow(message, random[i]!, logBlowup));
        expect(encode(messages, random, m, logBlowup)).toEqual(expected);
        expect(encode(messages, random, m, logBlowup, 1)).toEqual(expected);
      }
    }
  });

  it.each([10, 11, 12])('equals Horner at sampled points for m = %i with the largest coefficients', (m) => {
    const messages = [sampleBase(m, 2 ** m), new Array<bigint>(2 ** m).fill(P - 1n)];
    const random = [sampleBase(m + 50, 88), new Array<bigint>(88).fill(P - 1n)];
    const rows = encode(messages, random, m, 3);
    for (let i = 0; i < 2 ** (m + 3); i += 2 ** m / 4 + 37) {
      const y = domainPoint(m, 3, i);
      rows.forEach((row, k) => expect(row[i]).toBe(evaluateRow(messages[k]!, random[k]!, y)));
    }
  });
});
