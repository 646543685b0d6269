/** Codewords that are hashed and dropped: the same leaves and, when they are opened, the same symbols. */
import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { KernelBackend } from '../prover/kernel-backend.js';
import { plainBackend } from '../prover/plain-backend.js';
import { OpenBlock, symbolsOf } from '../prover/symbols.js';
import { seedOf } from '../testing/segments.js';
import type { BaseArray, CommittingBackend } from './backend.js';
import { buildTree, encodeMatrix, hashMatrix, rowsOf, type CodedMatrix } from './commit.js';
import { endingsOf } from './endings.js';
import { leafHeader } from './hash.js';
import { createEngine } from './kernels/index.js';

const kernels = new KernelBackend(createEngine({ rowLogMax: 10 }));

function elements(backend: CommittingBackend, count: number, name: string): BaseArray {
  return backend.randomElements(seedOf(name), count);
}

const backends: [string, CommittingBackend][] = [
  ['bigints', plainBackend],
  ['kernels', kernels],
];

describe.each(backends)('codewords that are dropped, by %s', (_name, backend) => {
  it.each([
    [1, 3, 1, 0],
    [3, 4, 2, 8],
    [7, 5, 3, 32],
    [2, 4, 4, 3],
  ])('%i rows of 2^%i, blowup 2^%i, %i random coefficients', (rows, m, logBlowup, t) => {
    const given = {
      messages: Array.from({ length: rows }, (_, row) => elements(backend, 2 ** m, `messages ${row}`)),
      random: t === 0 ? backend.base(0) : elements(backend, rows * t, 'random'),
    };
    const size = 2 ** (m + logBlowup);
    const [kept, dropped] = [2 ** 28, 0].map((bytes) =>
      encodeMatrix(backend, given, { m, logBlowup }, { bytes, logBlowup: 9 }),
    ) as [CodedMatrix, CodedMatrix];
    expect([kept.messages, dropped.codewords]).toEqual([undefined, undefined]);
    for (const count of [1, 2, 2 ** m]) {
      for (const begin of [0, count, size - count]) {
        const symbols = symbolsOf(backend, dropped, begin, count);
        expect(symbols).toEqual(symbolsOf(backend, kept, begin, count));
        expect([...symbols.at(-1)!]).toEqual([
          ...rowsOf(kept.codewords!, rows)
            .at(-1)!
            .slice(begin, begin + count),
        ]);
      }
    }
  });
});

describe.each(backends)('a tree of leaves that are hashed again, by %s', (_name, backend) => {
  it.each([
    [3, 7, 2, { hash: 'keccak', digestBytes: 26 }],
    [1, 3, 1, { hash: 'keccak', digestBytes: 26 }],
    [3, 7, 2, { hash: 'blake3', digestBytes: 32 }],
  ] as const)('%i rows of 2^%i, blowup 2^%i, by %o', (rows, m, logBlowup, by) => {
    const leavesOf = (symbols: readonly BaseArray[], endings?: Uint8Array): Uint8Array =>
      backend.hashLeaves(by.hash, leafHeader('S', by.hash), symbols, endings);
    const messages = Array.from({ length: rows }, (_, row) => elements(backend, 2 ** m, `messages ${row}`));
    const size = 2 ** (m + logBlowup);
    const given = Uint8Array.from({ length: 32 * size }, (_, i) => i % 251);
    for (const endings of [undefined, 'zeros', { seed: seedOf('endings') }, { given }] as const) {
      const code = { messages, random: backend.base(0) };
      const matrix = encodeMatrix(backend, code, { m, logBlowup }, { bytes: 0, logBlowup: 0 });
      const leaves = new Uint8Array(32 * size);
      const tree = hashMatrix(backend, 'S', matrix, by, { endings, leaves });
      const codewords = rowsOf(backend.encodeRows(code, { m, logBlowup }), rows);
      expect(toHex(leaves)).toBe(toHex(leavesOf(codewords, endingsOf(backend, endings, 0, size))));
      const whole = buildTree(backend, leaves, by);
      expect(toHex(tree.root)).toBe(toHex(whole.root));
      expect(tree.levels.map(toHex)).toEqual(whole.levels.slice(tree.from).map(toHex));
      for (const block of [0, size / 2 ** tree.from - 1]) {
        const open = new OpenBlock(backend, 'S', by, { matrix, tree, ...(endings && { endings }) }, block);
        for (let level = tree.from - 1; level >= 0; level--) {
          const bytes = (32 * 2 ** tree.from) / 2 ** level;
          const own = whole.levels[level]!.subarray(block * bytes, (block + 1) * bytes);
          expect(toHex(open.level(level))).toBe(toHex(own));
        }
      }
    }
  });
});
