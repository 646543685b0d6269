import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { provability, profileManifest, type Manifest } from '#libs/step';
import { dataTrees } from '../commit/layout/blocks.js';
import { alignedPieces } from '../commit/layout/shape.js';
import { layoutDigest } from '../commit/layout/tree-layout.js';
import { openingBudget, profileNamed, profiles } from '../commit/params.js';
import { soundnessBitsMin } from '../soundness.js';
import { derivePlan, derivePlanUnchecked, placedBlock } from './plan.js';

const seed = `0x${'11'.repeat(32)}`;
const fx1 = (
  dims: number[],
  batch: number,
  e: number,
  superblock: number,
  profile: 'fx1' | 'fx1s' | 'fx1w' = 'fx1',
): Manifest => profileManifest(profile, { dims, batch, e, steps: 64, seed, superblock });

const reference: [string, number][] = [
  ['chain1', 1],
  ['chain1', 4],
  ['chain16', 16],
  ['chain26', 16],
  ['fast16', 16],
  ['fast64', 64],
  ['chain64', 64],
  ['steps128', 128],
  ['chain256', 256],
  ['sum100', 64],
];

describe('plan (libs/zk/SPEC.md §4)', () => {
  it('splits class ranges into aligned pieces', () => {
    expect(alignedPieces(0, 10)).toEqual([
      { start: 0, bits: 3 },
      { start: 8, bits: 1 },
    ]);
    expect(alignedPieces(10, 16)).toEqual([
      { start: 10, bits: 1 },
      { start: 12, bits: 2 },
    ]);
    expect(alignedPieces(0, 3)).toEqual([
      { start: 0, bits: 1 },
      { start: 2, bits: 0 },
    ]);
    expect(alignedPieces(16, 16)).toEqual([]);
  });

  it.each([2 ** 31, 0.5, -1])('refuses a loss of exponent %d before it computes with it', (E) => {
    const manifest = fx1([3, 4, 2], 2, 5, 1);
    const loss = { ...manifest.loss, E, k: E } as Manifest['loss'];
    const refusal = expect.objectContaining({ code: 'STEP_PLAN' }) as Error;
    expect(() => derivePlanUnchecked({ ...manifest, loss }, profiles.get('chain1')!, 'joint')).toThrow(refusal);
  });

  it.each(reference)('%s reaches 100 bits at 784-64-10, T = %i', (name, superblock) => {
    const plan = derivePlan(fx1([784, 64, 10], 64, 8, superblock), profiles.get(name)!, 'joint');
    expect(plan.soundness.minBits).toBeGreaterThanOrEqual(soundnessBitsMin);
    expect(plan.soundness.sumBits).toBeGreaterThan(96);
    expect(plan.soundness.sumBits).toBeLessThan(plan.soundness.minBits);
  });

  it.each(reference)('Z-I2 %s: counts each masked round once, T = %i', (name, superblock) => {
    const manifest = fx1([784, 64, 10], 64, 8, superblock);
    const { soundness, messages, shape } = derivePlan(manifest, profiles.get(name)!, 'joint');
    const { count } = soundness.terms.find(({ step }) => step === 'masked sumcheck round')!;
    expect(count).toBe(messages.rounds);
    // The other masked messages open claims, and have no challenge of their own that a round would add.
    const openings = 2 * (shape.layers.length - 1) + 2 * shape.pieces.length + 1;
    expect(messages.maskedMessages - 1 - 2 * count).toBe(openings);
  });

  it('has 100 bits in the sum over all rounds under sum100, up to sixty-four steps', () => {
    for (const superblock of [1, 4, 16, 64]) {
      const plan = derivePlan(fx1([784, 64, 10], 64, 8, superblock), profiles.get('sum100')!, 'joint');
      expect(plan.soundness.sumBits).toBeGreaterThanOrEqual(100);
    }
  });

  it('opens twice outside the domain where one value would not bind a large tree', () => {
    const manifest = fx1([784, 256, 128, 64, 10], 512, 11, 16);
    expect(() => derivePlan(manifest, profiles.get('fast64')!, 'joint')).toThrow('out-of-domain');
    const plan = derivePlan(manifest, profiles.get('large')!, 'joint');
    expect(plan.soundness.minBits).toBeGreaterThanOrEqual(soundnessBitsMin);
  });

  it('states 128 bits for the profile over the cubic extension, and refuses to use it', () => {
    const shape = derivePlanUnchecked(fx1([784, 64, 10], 64, 8, 1), profiles.get('chain128')!, 'joint');
    expect(shape.soundness.minBits).toBeGreaterThanOrEqual(128);
    expect(() => profileNamed('chain128')).toThrow('STEP_EXTENSION');
    expect(() => derivePlan(fx1([784, 64, 10], 64, 8, 1), profiles.get('chain128')!, 'joint')).toThrow(
      'STEP_EXTENSION',
    );
  });

  it('keeps ten epochs inside the opening budget of every profile', () => {
    for (const profile of profiles.values()) expect(openingBudget(profile)).toBeGreaterThanOrEqual(10);
  });

  it('cuts no digest under BLAKE3, whose nodes are one block', () => {
    const onBlake3 = [...profiles.values()].filter(({ hash }) => hash === 'blake3');
    expect(onBlake3.map(({ name }) => name)).toEqual(
      ['fast64', 'small', 'fast16', 'large'].map((name) => `${name}-blake3`),
    );
    for (const { digestBytes } of onBlake3) expect(digestBytes).toBe(32);
  });

  it('refuses a shape that a profile is too weak for', () => {
    expect(() => derivePlan(fx1([784, 1024, 1024, 10], 64, 8, 1), profiles.get('chain1')!, 'joint')).toThrow(
      'STEP_PLAN',
    );
  });

  it('places blocks aligned and disjoint, for many shapes', () => {
    const shapes: [number[], number, number, number, 'fx1' | 'fx1s'][] = [];
    for (const dims of [
      [3, 4, 2],
      [5, 7, 3],
      [784, 64, 10],
      [20, 33, 17, 10],
      [9, 8, 8, 8, 16],
    ]) {
      for (const [batch, steps] of [
        [2, 1],
        [4, 2],
        [16, 4],
      ])
        shapes.push([dims, batch!, 6, steps!, 'fx1'], [dims, batch!, 8, steps!, 'fx1s']);
    }
    expect(shapes.length).toBe(30);
    for (const [dims, batch, e, steps, profile] of shapes) {
      const plan = derivePlanUnchecked(
        fx1(dims, batch, e, steps, profile),
        { ...profiles.get('chain1')!, m: 10, k1: 2 },
        'joint',
      );
      const spans: [number, number][] = [];
      for (const tree of dataTrees) {
        for (const { name } of plan.trees[tree].blocks) {
          const block = placedBlock(plan, tree, name);
          expect(block.offset % 2 ** block.vars).toBe(0);
          spans.push([block.offset, block.offset + 2 ** block.vars]);
        }
      }
      spans.sort((a, b) => a[0] - b[0]);
      for (let i = 1; i < spans.length; i++) expect(spans[i]![0]).toBeGreaterThanOrEqual(spans[i - 1]![1]);
      expect(spans.at(-1)![1]).toBeLessThanOrEqual(2 ** plan.vars);
      let end = 0;
      for (const block of plan.lookups.blocks) {
        expect(block.offset).toBe(end);
        end += 2 ** block.vars;
      }
    }
  });

  it('gives both weight trees one layout, whatever the segment length', () => {
    const profile = profiles.get('chain1')!;
    const digest = (steps: number, tree: 'W0' | 'WT'): string => {
      const plan = derivePlan(fx1([784, 64, 10], 64, 8, steps), profile, 'joint');
      return toHex(layoutDigest(plan.trees[tree], plan.shape, profile));
    };
    expect(digest(1, 'W0')).toBe(digest(1, 'WT'));
    expect(digest(1, 'W0')).toBe(digest(4, 'W0'));
    const other = derivePlan(fx1([784, 64, 10], 64, 8, 1), profiles.get('fast16')!, 'joint');
    expect(toHex(layoutDigest(other.trees.W0, other.shape, other.profile))).not.toBe(digest(1, 'W0'));
  });

  it('binds the variant in the plan digest', () => {
    const manifest = fx1([784, 64, 10], 64, 8, 1);
    const digests = (['joint', 'separate'] as const).map((variant) =>
      toHex(derivePlan(manifest, profiles.get('chain1')!, variant).digest),
    );
    expect(digests[0]).not.toBe(digests[1]);
  });

  it('has the no-wrap limits of libs/zk/SPEC.md §13.3', () => {
    expect(provability(fx1([784, 64, 10], 64, 8, 1)).segmentStepsMax).toBe(256);
    expect(provability(fx1([784, 256, 128, 64, 10], 512, 11, 1)).segmentStepsMax).toBe(16);
    expect(provability(fx1([784, 1024, 1024, 10], 64, 8, 1)).segmentStepsMax).toBe(16);
    expect(provability(fx1([784, 128, 64, 10], 128, 9, 1)).segmentStepsMax).toBe(128);
    const tooLong = fx1([784, 128, 64, 10], 128, 9, 256);
    expect(() => derivePlan(tooLong, profiles.get('fast64')!, 'joint')).toThrow('STEP_PLAN');
    expect(() => derivePlan(fx1([784, 64, 10], 64, 8, 512), profiles.get('fast64')!, 'joint')).toThrow('STEP_PLAN');
  });
});
