/**
 * Witnesses that a prover without scruples commits to: every block as field elements, the corners of every rule, data
 * and weights other than the registered ones. The integers of each are otherwise consistent; all are rejected.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { initialWeights, type Manifest } from '#libs/step';
import * as commit from '../commit/commit.js';
import { add, inverse } from '../commit/field/goldilocks.js';
import { createEngine } from '../commit/kernels/index.js';
import { verdict, type Forgery } from '../testing/lies.js';
import { testManifest, testProfile, testSegment, type SegmentChoice, type TestSegment } from '../testing/segments.js';
import type { Cells } from './cells.js';
import { commitData, commitWeights } from './commitments.js';
import { KernelBackend } from './kernel-backend.js';
import * as mask from './mask.js';
import { countLookups } from './multiplicities.js';
import { runSegment } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const profile = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3 };
const made = (manifest: Manifest, choice: SegmentChoice = {}): TestSegment =>
  testSegment(backend, { manifest, profile, ...choice });

afterEach(() => vi.restoreAllMocks());

/** With multiplicities that fit what is looked up now, as far as it is in the tables. */
const recounted =
  ({ plan }: TestSegment, forge: Forgery): Forgery =>
  (segment) => {
    forge(segment);
    for (const [name, counts] of countLookups(backend, plan.shape, segment)) segment.witness.set(name, counts);
  };

/** Changes committed cells of the witness before they are committed. */
function withCells(change: (cells: Cells) => void): void {
  const key = mask.proverKey;
  vi.spyOn(mask, 'proverKey').mockImplementation((secret, statement, plan, cells, known) => {
    change(cells);
    return key(secret, statement, plan, cells, known);
  });
}

describe.each(['softmax-ce', 'mse'] as const)('every committed block, %s', (loss) => {
  const segment = made(testManifest({ dims: [3, 4, 3], superblock: 2, loss, seed: `0x${'55'.repeat(32)}` }));
  const { plan, input } = segment;
  const names = plan.trees.S.blocks.map(({ name }) => name).filter((name) => name !== 'pad');

  it('is accepted as it is', () => {
    expect(verdict(backend, segment)).toBe('accepted');
    expect([...runSegment(backend, plan, input).witness.keys()].sort()).toEqual(names.sort());
  });

  it.each(names)('%s, one cell plus 2^63', (name) => {
    withCells((cells) => {
      const block = cells.block('S', name);
      block[1] = add(block[1]!, 2n ** 63n);
    });
    expect(verdict(backend, segment)).toBe('STEP_FINAL_CHECK');
  });

  it.each(names)('%s, two cells exchanged', (name) => {
    withCells((cells) => {
      const block = cells.block('S', name);
      const other = block.findIndex((value) => value !== block[0]);
      [block[0], block[other]] = [block[other]!, block[0]!];
    });
    expect(verdict(backend, segment)).toBe('STEP_FINAL_CHECK');
  });
});

describe('the corners of the rules', () => {
  /** Hidden units whose pre-activation is −1, 0 and 1 for every sample, and one more. */
  const cornerWeights = (manifest: Manifest) => {
    const weights = initialWeights(manifest);
    const one = 2n ** BigInt(made(manifest).plan.shape.layers[0]!.forwardShift - 16);
    weights[0]!.values.fill(0n);
    weights[1]!.values.set([-one, 0n, one, 5n * one]);
    return weights;
  };
  const manifest = testManifest();
  const segment = made(manifest, { weights: cornerWeights(manifest) });

  it.each([
    ['−1', 0, -1],
    ['0', 1, 0],
    ['1', 2, 1],
  ])('the mask where the pre-activation is %s', (_name, unit, value) => {
    const flip = recounted(segment, ({ witness, virtual }) => {
      expect(virtual.get('Y1')![2 * unit]).toBe(value);
      const M = witness.get('M1')!;
      M[2 * unit] = 1 - M[2 * unit]!;
    });
    expect(verdict(backend, segment, new Map(), flip)).toBe('STEP_FINAL_CHECK');
  });

  it.each<[string, Forgery]>([
    [
      'a selector off the largest logit',
      ({ witness }) => {
        const sel = witness.get('sel')!;
        for (let i = 0; i < 2; i++) [sel[i], sel[2 + i]] = [sel[2 + i]!, sel[i]!];
      },
    ],
    ['an activation that ignores a negative value', ({ witness }) => void (witness.get('A1')![0] = -1)],
    [
      'a small distance called large',
      ({ witness }) => {
        witness.get('w')!.fill(0);
      },
    ],
    [
      'a remainder of 2^s',
      ({ witness }) => {
        witness.get('h1')![0]! += 2 ** 16;
      },
    ],
    ['a probability above one', ({ witness }) => void (witness.get('GL')![0]! += 2 ** 16)],
    ['a reciprocal of zero', ({ witness }) => void witness.get('iota')!.fill(0)],
    [
      'weights after that are those before',
      ({ after, before }) => {
        for (const [name, values] of before) after.get(name)!.set(values);
      },
    ],
  ])('%s', (_name, forge) => {
    expect(verdict(backend, segment, new Map(), recounted(segment, forge))).toBe('STEP_FINAL_CHECK');
  });

  it('half a flag', () => {
    withCells((cells) => void (cells.block('S', 'w')[0] = inverse(2n)));
    expect(verdict(backend, segment)).toBe('STEP_FINAL_CHECK');
  });

  it('a layer in the place of another', () => {
    const deep = made(testManifest({ dims: [4, 4, 4, 2] }));
    const swap: Forgery = ({ witness }) => {
      for (const kind of ['A', 'M', 'l', 'h', 'G', 'hp']) {
        const [one, two] = [witness.get(`${kind}1`)!, witness.get(`${kind}2`)!];
        witness.set(`${kind}1`, two).set(`${kind}2`, one);
      }
    };
    expect(verdict(backend, deep)).toBe('accepted');
    expect(verdict(backend, deep, new Map(), recounted(deep, swap))).toBe('STEP_FINAL_CHECK');
  });

  it('an error between two numbers of fewer bits', () => {
    const narrow = made(testManifest({ gbits: 14 }));
    withCells((cells) => {
      const block = cells.block('S', 'G1');
      block[0] = add(block[0]!, inverse(4n));
    });
    expect(verdict(backend, narrow)).toBe('STEP_FINAL_CHECK');
  });
});

describe('samples that only fill a batch up', () => {
  it('reach no weight', () => {
    const segment = made(testManifest({ dims: [3, 4, 3], batch: 3 }));
    const counted = recounted(segment, ({ after, witness, data }) => {
      const { layers } = segment.plan.shape;
      const [A, G] = [witness.get('A1')!, witness.get('GL')!];
      expect(data.get('X')!.length).toBe(4 * 4);
      for (let o = 0; o < 3; o++) {
        after.get('b2')![o]! -= G[4 * o + 3]!;
        for (let i = 0; i < 4; i++) after.get('W2')![4 * i + o]! -= A[4 * i + 3]! * G[4 * o + 3]!;
      }
      const high = (name: string, bits: number) =>
        after.get(name)!.map((value) => Math.floor(value / 2 ** (bits - 15)));
      witness.set('hW2', high('W2', layers[1]!.weightBits)).set('hb2', high('b2', layers[1]!.biasBits));
    });
    expect(verdict(backend, segment)).toBe('accepted');
    expect(verdict(backend, segment, new Map(), counted)).toBe('STEP_FINAL_CHECK');
  });
});

describe('other data or weights than the registered ones', () => {
  const plain = made(testManifest());
  const { plan, input } = plain;
  const opened: TestSegment = {
    plan,
    input: {
      ...input,
      openedData: commitData(backend, plan, input.examples, input.dataSeed),
      before: { ...input.before, opened: commitWeights(backend, plan, input.before.weights, input.before.seed) },
    },
  };

  it.each<[string, Forgery]>([
    ['a pixel', ({ data }) => void (data.get('X')![0]! += 1)],
    ['a label', ({ data }) => void data.get('Y')!.reverse()],
    ['a weight before', ({ before }) => void (before.get('W1')![0]! += 1)],
    ['a bias before', ({ before }) => void (before.get('b2')![0]! += 1)],
  ])('%s', (_name, forge) => {
    expect(verdict(backend, opened, new Map(), forge)).toBe('STEP_FINAL_CHECK');
  });

  it.each<[string, Partial<TestSegment['input']>]>([
    [
      'trained on another superblock',
      { examples: { ...input.examples, features: input.examples.features.map((byte) => byte ^ 1) } },
    ],
    [
      'trained from other weights',
      { before: { ...opened.input.before, weights: initialWeights(testManifest({ seed: `0x${'22'.repeat(32)}` })) } },
    ],
  ])('%s', (_name, change) => {
    expect(verdict(backend, { plan, input: { ...opened.input, ...change } })).toBe('STEP_FINAL_CHECK');
  });
});

describe('rows that are no codewords', () => {
  const segment = made(testManifest());
  const special = ['H', 'H, second part', 'Π', 'Π, second part', 'E', 'E, second part'];

  it.each(special)('%s', (name) => {
    const encode = commit.encodeMatrix;
    vi.spyOn(commit, 'encodeMatrix').mockImplementation((...given) => {
      const made = encode(...given);
      const { codewords, rows } = made;
      if (rows !== segment.plan.trees.S.rows.length + 6) return made;
      const length = codewords!.length / rows;
      const row = rows - 6 + special.indexOf(name);
      for (let i = 0; i < length; i++) {
        codewords![row * length + i] = add(codewords![row * length + i]!, BigInt(i) ** 9n);
      }
      return made;
    });
    expect(verdict(backend, segment)).toBe('STEP_FINAL_CHECK');
  });
});
