/** Codewords that are hashed and dropped: the same leaves and, when they are opened, the same symbols. */
import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { KernelBackend } from '../prover/kernel-backend.js';
import { plainBackend } from '../prover/plain-backend.js';
import { symbolsAt } from '../prover/symbols.js';
import { seedOf } from '../testing/segments.js';
import type { BaseArray, CommittingBackend } from './backend.js';
import { encodeMatrix } from './commit.js';
import { createEngine } from './kernels/index.js';

const kernels = new KernelBackend(createEngine({ rowLogMax: 10 }));
const header = 0x5301;

function elements(backend: CommittingBackend, count: number, name: string): BaseArray {
  return backend.randomElements(seedOf(name), count);
}

describe.each<[string, CommittingBackend]>([
  ['bigints', plainBackend],
  ['kernels', kernels],
])('codewords that are dropped, by %s', (_name, backend) => {
  it.each([
    [1, 3, 1, 0],
    [3, 4, 2, 8],
    [7, 5, 3, 32],
    [2, 4, 4, 3],
  ])('%i rows of 2^%i, blowup 2^%i, %i random coefficients', (rows, m, logBlowup, t) => {
    const given = {
      ...{ rows, messages: elements(backend, rows * 2 ** m, 'messages') },
      random: t === 0 ? backend.base(0) : elements(backend, rows * t, 'random'),
    };
    const aux = Uint8Array.from({ length: 32 * 2 ** (m + logBlowup) }, (_, i) => i % 251);
    for (const ending of [undefined, aux]) {
      const kept = encodeMatrix(backend, header, given, { m, logBlowup }, ending);
      const dropped = encodeMatrix(backend, header, given, { m, logBlowup }, ending, 0);
      expect(toHex(dropped.leaves)).toBe(toHex(kept.leaves));
      expect(dropped.matrix.codewords).toBeUndefined();
      for (const leaf of [0, 1, 2 ** m, 2 ** (m + logBlowup) - 1]) {
        expect(symbolsAt(backend, dropped.matrix, leaf)).toEqual(symbolsAt(backend, kept.matrix, leaf));
      }
    }
  });
});
