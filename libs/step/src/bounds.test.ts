import { describe, expect, it } from 'vitest';
import { checkBounds, profileManifest, provability, type ProfileName, type ProfileParameters } from './index.js';

const seed = `0x${'22'.repeat(32)}`;
const make = (name: ProfileName, dims: number[], batch: number, e: number, more: Partial<ProfileParameters> = {}) =>
  profileManifest(name, { dims, batch, e, steps: 10, seed, ...more });
const small = [784, 64, 10];
const middle = [784, 128, 64, 10];
const large = [784, 256, 128, 64, 10];

describe('static range rules, fixed-point §10', () => {
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

describe('provability, fixed-point §16 and step-proof §23 H1', () => {
  it('finds the longest segments of the page', () => {
    expect(provability(make('fx1', small, 64, 8)).segmentStepsMax).toBe(256);
    expect(provability(make('fx1', large, 512, 11)).segmentStepsMax).toBe(1);
    expect(provability(make('fx1', [784, 1024, 1024, 10], 512, 11)).segmentStepsMax).toBe(1);
    expect(provability(make('fx1', middle, 128, 9)).segmentStepsMax).toBe(2);
  });

  it('accepts a superblock up to that length and says which condition fails beyond', () => {
    expect(provability(make('fx1', small, 64, 8, { superblock: 256 }))).toMatchObject({ provable: true, reasons: [] });
    const tooLong = provability(make('fx1', middle, 128, 9, { superblock: 8 }));
    expect(tooLong.provable).toBe(false);
    expect(tooLong.reasons.join()).toMatch(/N[123]/);
  });

  it.each<[RegExp, ReturnType<typeof make>]>([
    [/two layers/, make('fx1', [784, 10], 64, 8)],
    [/power of two/, make('fx1', small, 60, 8)],
    [/mse/, make('fx1', small, 64, 8, { loss: 'mse' })],
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
