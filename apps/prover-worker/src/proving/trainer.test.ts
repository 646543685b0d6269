import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { initialWeights, profileManifest, stateDigest, stepReference, type Examples, type Manifest } from '#libs/step';
import { createEngine, createExactTrainer, KernelBackend } from '#libs/zk';
import { blockExamples, checkRange } from './records.js';

const seed = `0x${'5a'.repeat(32)}`;
const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));

function examplesOf(m: Manifest, count: number): Examples {
  const [width, classes] = [m.dims[0]!, m.dims.at(-1)!];
  const features = Uint8Array.from({ length: count * width }, (_, i) => (i * 73 + (i >> 3)) & 255);
  return { count, features, labels: Uint8Array.from({ length: count }, (_, i) => (i * 5) % classes) };
}

describe('exact steps over the kernels', () => {
  it.each([
    { dims: [6, 5, 3], batch: 4, e: 5 },
    { dims: [9, 7, 6, 4], batch: 2, e: 6, m: [[0, 3] as const, [2, 1] as const] },
    { dims: [6, 5, 3], batch: 4, e: 5, loss: 'mse' as const },
    { dims: [9, 7, 6, 4], batch: 2, e: 6, loss: 'mse' as const },
  ])('are those of the reference: $dims, $loss', (shape) => {
    const m = profileManifest('fx1', { ...shape, steps: 6, seed });
    const examples = examplesOf(m, 24);
    const trainer = createExactTrainer(backend, m, initialWeights(m));
    let expected = initialWeights(m);
    for (let step = 0; step < 6; step++) {
      trainer.train(step, blockExamples(m, examples, step));
      expected = stepReference(m, expected, blockExamples(m, examples, step), step).weights;
      expect(toHex(stateDigest(m, trainer.weights()))).toBe(toHex(stateDigest(m, expected)));
    }
  });

  it('names step and tensor where a value leaves its range', () => {
    const m = profileManifest('fx1', { dims: [6, 5, 3], batch: 4, e: 5, steps: 6, seed });
    const weights = initialWeights(m);
    for (const { values, name } of weights) if (name === 'W1') values.fill(2n ** 25n - 1n);
    const trainer = createExactTrainer(backend, m, weights);
    expect(() => trainer.train(3, blockExamples(m, examplesOf(m, 8), 0))).toThrow(/GUARD_VIOLATION.*step 3, tensor W1/);
  });
});

it('names the error of the last layer where mse leaves its range', () => {
  const m = profileManifest('fx1', { dims: [6, 5, 3], batch: 4, e: 5, steps: 6, seed, loss: 'mse' });
  const narrow = { ...m, gbits: m.g.at(-1)! };
  const trainer = createExactTrainer(backend, narrow, initialWeights(m));
  expect(() => trainer.train(2, blockExamples(m, examplesOf(m, 8), 0))).toThrow(/GUARD_VIOLATION.*step 2, tensor G2/);
});

describe('a range of steps', () => {
  const m = profileManifest('fx1', { dims: [6, 5, 3], batch: 4, e: 5, steps: 22, seed, superblock: 4 });

  it.each([
    [0, 4, 0, 1],
    [8, 8, 2, 2],
    [20, 2, 5, 1],
  ])('from %i, %i steps: segment %i, %i of them', (from, steps, first, segments) => {
    expect(checkRange(m, from, steps)).toEqual({ first, segments });
  });

  it.each([
    [2, 4, 'SEGMENT_ALIGNMENT'],
    [0, 3, 'SEGMENT_ALIGNMENT'],
    [20, 4, 'SEGMENT_RANGE'],
  ])('from %i, %i steps is refused: %s', (from, steps, code) => {
    expect(() => checkRange(m, from, steps)).toThrow(code);
  });
});
