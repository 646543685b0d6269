import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { initialWeights, profileManifest, stateDigest, type Examples, type Manifest } from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import { shapeOf } from '../commit/layout/shape.js';
import { executeSegment, weightsAfter } from './execute.js';
import { KernelBackend } from './kernel-backend.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 4 }));
const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
const batch = { features: [0, 128, 255, 200, 10, 77], labels: [1, 0] };

function repeated(count: number): Examples {
  return {
    count: 2 * count,
    features: Uint8Array.from({ length: 6 * count }, (_, i) => batch.features[i % 6]!),
    labels: Uint8Array.from({ length: 2 * count }, (_, i) => batch.labels[i % 2]!),
  };
}

function run(profile: 'fx1' | 'fx1s', stepSizes: number[]): { manifest: Manifest; digest: string } {
  const superblock = stepSizes.length;
  const manifest = profileManifest(profile, { dims: [3, 4, 2], batch: 2, e: 4, steps: 64, seed, superblock });
  const shape = shapeOf(manifest);
  const start = initialWeights(manifest);
  const columns = executeSegment(backend, shape, start, repeated(superblock), 0, stepSizes);
  return { manifest, digest: toHex(stateDigest(manifest, weightsAfter(shape, columns))) };
}

describe('segment execution against the published digests (libs/step/SPEC.md §14.1)', () => {
  it.each([
    ['fx1', [1], '138641c6a1f69e44e7b1ae0e0347b634b632b4c8ab8ece457d2c547065e99c6b'],
    ['fx1', [1, 1], 'b9174bfe451a8636debb46978667d00c72689d4e80361fccd72899f29fd680c3'],
    ['fx1', [1, 1, 1, 0], 'dad5a83928a3c11328ff249f98c86e4d33b4dae37ae6412d461c63fb4b05c447'],
    ['fx1', [4, 2, 1, 0], 'b6492036c3b04512161d6c0cbe27890f696d746fe286fdc40ec4cbfa6d730400'],
  ] as const)('%s with steps %s', (profile, sizes, digest) => {
    expect(run(profile, [...sizes]).digest).toBe(digest);
  });

  it('keeps the intermediate values of the published step', () => {
    const manifest = profileManifest('fx1', { dims: [3, 4, 2], batch: 2, e: 4, steps: 64, seed });
    const shape = shapeOf(manifest);
    const { witness, virtual } = executeSegment(backend, shape, initialWeights(manifest), repeated(1), 0, [1]);
    const byRow = (column: Float64Array): number[][] => [0, 1].map((b) => [...column].filter((_, i) => i % 2 === b));
    expect(byRow(virtual.get('Y1')!)).toEqual([
      [28, 13, 117, 27],
      [-18, 22, 60, 10],
    ]);
    expect(byRow(witness.get('A1')!)).toEqual([
      [28, 13, 117, 27],
      [0, 22, 60, 10],
    ]);
    expect(byRow(witness.get('G1')!)).toEqual([
      [209, -396, -85, -178],
      [0, 744, 159, 335],
    ]);
    expect(byRow(witness.get('GL')!)).toEqual([
      [361, -361],
      [-678, 678],
    ]);
    expect([...witness.get('iota')!]).toEqual([42447, 43380]);
    expect(byRow(witness.get('sel')!)).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  it('stops at a guard with step and tensor', () => {
    const manifest = profileManifest('fx1', { dims: [3, 4, 2], batch: 2, e: 4, steps: 64, seed });
    const shape = shapeOf(manifest);
    const start = initialWeights(manifest);
    start[2]!.values.fill(2n ** 22n - 1n);
    start[0]!.values.fill(2n ** 24n - 1n);
    expect(() => executeSegment(backend, shape, start, repeated(1), 5, [1])).toThrow('GUARD_VIOLATION');
  });
});
