import { describe, expect, it } from 'vitest';
import {
  checkBounds,
  profileManifest,
  provability,
  unscaledLimbs,
  type ProfileName,
  type ProfileParameters,
} from './index.js';

const seed = `0x${'22'.repeat(32)}`;
const make = (name: ProfileName, dims: number[], batch: number, e: number, more: Partial<ProfileParameters> = {}) =>
  profileManifest(name, { dims, batch, e, steps: 10, seed, ...more });
const small = [784, 64, 10];
const middle = [784, 128, 64, 10];
const large = [784, 256, 128, 64, 10];

describe('static range rules, libs/step/SPEC.md §10', () => {
  it.each<[ProfileName, number[], number]>([
    ['fx1', small, 15],
    ['fx1', middle, 13],
    ['fx1', large, 12],
    ['fx1s', small, 17],
    ['fx1s', middle, 17],
    ['fx1s', large, 16],
  ])('%s fits %j up to e = %i and no further', (name, dims, e) => {
    expect(() => checkBounds(make(name, dims, 64, e))).not.toThrow();
    expect(() => checkBounds(make(name, dims, 64, e + 1))).toThrow(/STEP_RANGE_R[12]/);
  });

  it.each<[string, ReturnType<typeof make>]>([
    ['STEP_RANGE_R1', make('fx1', small, 64, 20)],
    ['STEP_RANGE_R2', make('fx1', [4, 8, 2048, 2], 64, 11, { wint: [2, 2, 2], m: [[0, 1]] })],
    ['STEP_RANGE_R3', { ...make('fx1', [4, 8, 8, 2], 8192, 2, { m: [[0, 255]] }), gbits: 24 }],
    ['STEP_RANGE_R4', make('fx1', [784, 64, 64], 64, 8)],
    ['STEP_RANGE_R4', make('fx1w', [784, 64, 16], 64, 4)],
  ])('refuses with %s', (code, manifest) => {
    expect(() => checkBounds(manifest)).toThrow(expect.objectContaining({ code }));
  });
});

describe('provability, libs/step/SPEC.md §16 and libs/zk/SPEC.md §13.3', () => {
  it('finds the longest segments of the page', () => {
    expect(provability(make('fx1', small, 64, 8)).segmentStepsMax).toBe(256);
    expect(provability(make('fx1', large, 512, 11)).segmentStepsMax).toBe(16);
    expect(provability(make('fx1', [784, 1024, 1024, 10], 64, 8)).segmentStepsMax).toBe(16);
    expect(provability(make('fx1', middle, 128, 9)).segmentStepsMax).toBe(128);
  });

  it('accepts a superblock up to that length and says which condition fails beyond', () => {
    expect(provability(make('fx1', small, 64, 8, { superblock: 256 }))).toMatchObject({ provable: true, reasons: [] });
    const tooLong = provability(make('fx1', middle, 128, 9, { superblock: 256 }));
    expect(tooLong.provable).toBe(false);
    expect(tooLong.reasons.join()).toMatch(/N1/);
  });

  it('looks up a limb twice exactly where the scaled lookup could wrap (N2)', () => {
    const backward = (steps: number) =>
      unscaledLimbs(make('fx1', middle, 128, 9, { superblock: steps })).map((limbs) => limbs.backward);
    expect(backward(2)).toEqual([false, false, false]);
    expect(backward(4)).toEqual([false, true, false]);
    for (const limbs of unscaledLimbs(make('fx1', small, 64, 8, { superblock: 256 }))) {
      expect(limbs).toEqual({ forward: false, backward: false, weight: false, bias: false });
    }
  });

  it.each<[string, ReturnType<typeof make>]>([
    ['mse', make('fx1', small, 64, 8, { loss: 'mse' })],
    ['a batch that is no power of two', make('fx1', small, 60, 8)],
    ['one layer', make('fx1', [784, 10], 64, 8)],
    ['narrow errors', make('fx1', small, 64, 8, { gbits: 14 })],
  ])('admits %s', (_name, manifest) => {
    expect(provability(manifest)).toMatchObject({ provable: true, reasons: [] });
  });

  it.each<[RegExp, ReturnType<typeof make>]>([
    [/gbits/, make('fx1', small, 64, 8, { gbits: 17 })],
    [/w \+ wint/, make('fx1', large, 512, 12)],
    [/forward shift/, make('fx1', small, 64, 15)],
    [/backward shift/, make('fx1s', small, 64, 2)],
    [/N4/, make('fx1w', [784, 64, 16], 64, 4)],
    [/β \+ wint/, make('fx1', small, 64, 2)],
  ])('refuses with a reason: %s', (reason, manifest) => {
    const found = provability(manifest);
    expect(found).toMatchObject({ provable: false, segmentStepsMax: 0 });
    expect(found.reasons.join('; ')).toMatch(reason);
  });
});
