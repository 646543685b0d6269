import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { initialWeights, profileManifest, stateDigest, stepReference, type Examples } from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import { shapeOf } from '../commit/layout/shape.js';
import { testExamples, testSeed } from '../testing/segments.js';
import { executeSegment, weightsAfter } from './execute.js';
import { KernelBackend } from './kernel-backend.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 4 }));
const shapes: [number[], number, number, 'fx1' | 'fx1s' | 'fx1w'][] = [
  [[20, 16, 12, 10], 8, 2, 'fx1'],
  [[5, 3, 7], 4, 4, 'fx1s'],
  [[9, 6, 5, 4, 3], 2, 2, 'fx1w'],
];

describe('segment execution against the bigint reference', () => {
  it.each(shapes)('%j, batch %i, %i steps, %s', (dims, batch, superblock, profile) => {
    const parameters = {
      dims,
      batch,
      e: 6,
      steps: 64,
      seed: testSeed,
      superblock,
      m: [
        [0, 3],
        [1, 1],
      ] as const,
    };
    const manifest = profileManifest(profile, parameters);
    const shape = shapeOf(manifest);
    const examples = testExamples(manifest, 0);
    let weights = initialWeights(manifest);
    const columns = executeSegment(backend, shape, weights, examples, 0, [3, 1, 1, 1].slice(0, superblock));
    const after = weightsAfter(shape, columns);
    for (let t = 0; t < superblock; t++)
      weights = stepReference(manifest, weights, batchOf(examples, batch, t), t).weights;
    expect(toHex(stateDigest(manifest, after))).toBe(toHex(stateDigest(manifest, weights)));
  });
});

function batchOf(examples: Examples, count: number, t: number): Examples {
  const width = examples.features.length / examples.count;
  return {
    count,
    features: examples.features.slice(t * count * width, (t + 1) * count * width),
    labels: examples.labels.slice(t * count, (t + 1) * count),
  };
}
