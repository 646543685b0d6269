import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { vectorFolder } from '#test/fxt2';
import { netOf, parseNetManifest } from '../index.js';
import { batchParts } from './batch-parts.js';

const convolution = { op: 'conv2d', k: [5, 5], out: 8 };
const net = (batch: number, layers: readonly object[] = []) =>
  netOf(
    parseNetManifest({
      ...{ fxt: 2, seed: `0x${'5a'.repeat(32)}`, batch, steps: 4, input: { shape: [28, 28, 1], frac: 8 } },
      ...{ a: 8, g: 12, wint: 3, layers: [convolution, ...layers, { op: 'flatten' }, { op: 'dense', out: 3 }] },
      ...{ loss: { kind: 'softmax-ce', E: 12, k: 28 }, optimizer: { kind: 'sgd', lr: { frac: 24, points: [[0, 1]] } } },
    }),
  );

// A record's columns take 115,200 bytes: 24 × 24 places of 25 numbers.
it.each([
  [9, 1],
  [10, 2],
  [20, 4],
  [27, 3],
  [64, 8],
  [63, 7],
  [1024, 8],
])('a batch of %d is taken in %d parts', (batch, parts) => {
  expect(batchParts(net(batch))).toBe(parts);
});

it('a batch whose elements are counted is taken whole', () => {
  expect(batchParts(net(64, [{ op: 'dropout', p16: 9 }]))).toBe(1);
});

it.skipIf(vectorFolder() === undefined)('a vector whose digests are known is taken in parts', () => {
  const text = readFileSync(join(vectorFolder()!, 'v1-cnn-adamw.json'), 'utf8');
  const { data: _, ...manifest } = JSON.parse(text) as Record<string, unknown>;
  expect(batchParts(netOf(parseNetManifest(manifest)))).toBeGreaterThan(1);
});
