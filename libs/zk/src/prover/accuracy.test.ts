/** Counts that hold are proved, and those that do not are not: each forgery breaks one constraint, and passes without it. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { initialWeights, profileManifest, type Manifest } from '#libs/step';
import { createEngine } from '../commit/kernels/index.js';
import type { Profile } from '../commit/params.js';
import {
  brokenPlaces,
  codeOfCount,
  constantLogits,
  countVerdict,
  logitsOf,
  rightByReference,
  testCount,
  testRecords,
  withLabels,
  type CountForgery,
  type Deceit,
} from '../testing/accuracy.js';
import { withoutConstraints } from '../testing/lies.js';
import { seedOf, testManifest, testProfile, testSeed } from '../testing/segments.js';
import * as tensors from '../verifier/flow/tensors.js';
import * as committed from './committed.js';
import { commitData, commitWeights } from './commitments.js';
import { KernelBackend } from './kernel-backend.js';
import { plainBackend } from './plain-backend.js';
import { classRecords, proveAccuracy } from './prove-accuracy.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const manifest = testManifest({ dims: [3, 4, 3] });
const level = { k: 2, logBlowup: 3, multiplicity: 1, queries: 4, grind: 1, grindFold: 1 };
const levelled: Profile = { ...testProfile, oodPoints: 2, inputsFirst: true, deeper: [level] };

afterEach(() => vi.restoreAllMocks());

describe('the count of a random net', () => {
  const other = (dims: number[], parameters = {}): Manifest =>
    profileManifest('fx1', { dims, batch: 2, e: 5, steps: 64, seed: testSeed, ...parameters });
  it.each<[string, Manifest, number, Profile]>([
    ['five records', manifest, 5, testProfile],
    ['one record', manifest, 1, testProfile],
    ['two records', manifest, 2, testProfile],
    ['records that fill a power of two', manifest, 16, testProfile],
    ['one layer', other([5, 3]), 9, testProfile],
    ['three layers', other([3, 4, 5, 3]), 6, testProfile],
    ['two classes', other([3, 4, 2]), 7, testProfile],
    ['ten classes', other([3, 4, 10]), 21, testProfile],
    ['sixteen classes', other([3, 4, 16]), 33, testProfile],
    ['a net that trains by the squared loss', other([3, 4, 3], { loss: 'mse' }), 12, testProfile],
    ['segments of four steps', other([3, 4, 3], { superblock: 4 }), 11, testProfile],
    [
      'profile fx1s',
      profileManifest('fx1s', { dims: [3, 4, 3], batch: 2, e: 5, steps: 4, seed: testSeed }),
      5,
      testProfile,
    ],
    ['two out-of-domain points and a second level', manifest, 10, levelled],
  ])('is that of the reference: %s', (_name, own, records, profile) => {
    const { plan, input } = testCount(backend, { manifest: own, records, profile });
    const { proof, statement } = proveAccuracy(backend, plan, input);
    expect(statement.correct).toBe(rightByReference(own, input.weights.weights, input.examples));
    expect(codeOfCount(plan, statement, proof)).toBe('accepted');
  });

  it('is neither none nor all of the records of these tests', () => {
    const counts = Array.from({ length: 6 }, (_, k) =>
      rightByReference(manifest, initialWeights(manifest), testRecords(manifest, 16, `set ${k}`)),
    );
    expect(new Set(counts).size).toBeGreaterThan(2);
  });

  it('may be shown lower, down to none', () => {
    const examples = testRecords(manifest, 16);
    const right = rightByReference(manifest, initialWeights(manifest), examples);
    expect(right).toBeGreaterThan(1);
    for (const correctMax of [right + 1, right, right - 1, 0]) {
      const { plan, input } = testCount(backend, { examples, correctMax });
      const { proof, statement } = proveAccuracy(backend, plan, input);
      expect(statement.correct).toBe(Math.min(right, correctMax));
      expect(codeOfCount(plan, statement, proof)).toBe('accepted');
    }
  });

  it('has the same proof, byte for byte, in bigints', () => {
    const { plan, input } = testCount(backend);
    const plain = proveAccuracy(plainBackend, plan, input);
    expect(toHex(plain.proof)).toBe(toHex(proveAccuracy(backend, plan, input).proof));
  });
});

describe('ties', () => {
  const examples = withLabels(testRecords(manifest, 6), [0, 1, 2, 0, 1, 2]);
  it.each<[string, bigint[], number]>([
    ['of all classes go to the first', [4096n, 4096n, 4096n], 2],
    ['of the first two go to the first', [4096n, 4096n, 0n], 2],
    ['of the last two go to the second', [0n, 4096n, 4096n], 2],
    ['of the outer two go to the first', [4096n, 0n, 4096n], 2],
    ['below the largest do not matter', [0n, 0n, 4096n], 2],
  ])('%s', (_name, biases, right) => {
    const weights = constantLogits(manifest, biases);
    expect(new Set(logitsOf(manifest, weights, examples, 0)).size).toBe(new Set(biases).size);
    const { plan, input } = testCount(backend, { weights, examples });
    const { proof, statement } = proveAccuracy(backend, plan, input);
    expect(statement.correct).toBe(right);
    expect(rightByReference(manifest, weights, examples)).toBe(right);
    expect(codeOfCount(plan, statement, proof)).toBe('accepted');
  });
});

describe('a false count', () => {
  /** Class 1 is the largest, class 0 a little less, class 2 the least: right are the records of class 1. */
  const weights = constantLogits(manifest, [2048n, 4096n, 0n]);
  const count = testCount(backend, { weights, examples: withLabels(testRecords(manifest, 5), [1, 0, 2, 1, 0]) });
  const { plan } = count;
  const { pieces, layers, samples } = plan.shape;
  const places = plan.messages.constraints;
  const factors = 3 + (plan.lookups.vars - 1) + (plan.lookups.plainLow ? 3 : 5);
  const products = factors + 4 * pieces.length;
  const place = { root: 3, products, bound: products + 1, count: places - 4 };

  it('has its constraints where this test looks for them', () => {
    expect(place.bound + pieces.length + 2 * layers.length + 1).toBe(place.count);
    expect(brokenPlaces(backend, count, {})).toEqual([]);
  });

  const at = (c: number, b: number): number => c * samples + b;
  const change =
    (changes: Record<string, readonly (readonly [number, number])[]>): CountForgery =>
    ({ witness }) => {
      for (const [name, cells] of Object.entries(changes)) {
        for (const [cell, by] of cells) witness.get(name)![cell]! += by;
      }
    };
  const logits = logitsOf(manifest, weights, count.input.examples, 0).map(Number);
  const [low, high, least] = logits as [number, number, number];

  const forgeries: readonly (readonly [string, Deceit, number])[] = [
    ['one more than there are', { claim: 1 }, place.count],
    ['one fewer, unsaid', { claim: -1 }, place.count],
    ['the records that fill the batch up', { claim: 1, forge: change({ sel: [[at(1, 7), 0]] }) }, place.count],
    [
      'a record whose label is not the largest, bounded by it',
      {
        claim: 1,
        forge: change({
          sel: [[at(0, 1), 1]],
          v: [[1, low - high]],
          q: [0, 1, 2].map((c) => [at(c, 1), low - high] as const),
        }),
      },
      place.root,
    ],
    ['a record whose label is below the bound', { claim: 1, forge: change({ sel: [[at(0, 1), 1]] }) }, place.products],
    [
      'a record by its largest class, which is not its label',
      {
        claim: 1,
        forge: change({
          sel: [[at(1, 1), 1]],
          v: [[1, 1]],
          q: [
            [at(1, 1), 1],
            [at(2, 1), 1],
          ],
        }),
      },
      place.products,
    ],
    [
      'a selector of two',
      {
        claim: 1,
        forge: change({
          sel: [[at(1, 0), 1]],
          v: [[0, 1]],
          q: [
            [at(1, 0), 1],
            [at(2, 0), 1],
          ],
        }),
      },
      place.products,
    ],
    [
      'a bound that is no 16-bit value',
      {
        forge: change({
          v: [[1, 2 ** 15 - high]],
          q: [0, 1, 2].map((c) => [at(c, 1), 2 ** 15 - high] as const),
        }),
      },
      place.root,
    ],
    [
      'a logit that is not that of the net',
      {
        claim: 1,
        forge: change({
          YL: [[at(0, 1), high - low + 1]],
          sel: [[at(0, 1), 1]],
          v: [[1, 1]],
          q: [
            [at(0, 1), low - high],
            [at(1, 1), 1],
            [at(2, 1), 1],
          ],
        }),
      },
      place.root,
    ],
  ];

  it.each(forgeries)('is not proved: %s', (_name, deceit, due) => {
    expect(brokenPlaces(backend, count, deceit)).toEqual([due]);
    expect(countVerdict(backend, count, deceit)).toBe('STEP_FINAL_CHECK');
    const undo = withoutConstraints(due);
    try {
      expect(countVerdict(backend, count, deceit)).toBe('accepted');
    } finally {
      undo();
    }
  });

  describe('of a tie', () => {
    const tied = testCount(backend, {
      weights: constantLogits(manifest, [4096n, 4096n, 0n]),
      examples: withLabels(testRecords(manifest, 5), [1, 1, 2, 2, 2]),
    });
    const claim = 1;
    it.each<[string, CountForgery, number]>([
      ['the lower class is not one below', change({ sel: [[at(1, 0), 1]] }), place.bound],
      ['the lower class is one above', change({ sel: [[at(1, 0), 1]], q: [[at(0, 0), -1]] }), place.root],
      [
        'the bound is one above',
        change({
          sel: [[at(1, 0), 1]],
          v: [[0, 1]],
          q: [
            [at(1, 0), 1],
            [at(2, 0), 1],
          ],
        }),
        place.products,
      ],
    ])('is not proved for the higher class: %s', (_name, forge, due) => {
      expect(brokenPlaces(backend, tied, { forge, claim })).toEqual([due]);
      expect(countVerdict(backend, tied, { forge, claim })).toBe('STEP_FINAL_CHECK');
      const undo = withoutConstraints(due);
      expect(countVerdict(backend, tied, { forge, claim })).toBe('accepted');
      undo();
    });
  });

  it('of records that only fill the batch up passes a verifier that counts them', () => {
    const { witness, correct } = classRecords(backend, plan, count.input);
    const all = witness.witness.get('sel')!.reduce((sum, selected) => sum + selected, 0);
    expect(all).toBe(correct + 1);
    vi.spyOn(tensors, 'realSamples').mockReturnValue(undefined);
    expect(countVerdict(backend, count, { claim: 1 })).toBe('accepted');
    vi.restoreAllMocks();
    expect(countVerdict(backend, count, { claim: 1 })).toBe('STEP_FINAL_CHECK');
  });

  it('has no proof where logits leave their range', () => {
    const steep = testCount(backend, { weights: constantLogits(manifest, [2n ** 24n - 1n, 0n, 0n]) });
    expect(() => proveAccuracy(backend, steep.plan, steep.input)).toThrow('GUARD_VIOLATION');
  });

  describe('of other commitments', () => {
    const { input } = count;
    const better = withLabels(input.examples, [1, 1, 1, 1, 1]);
    const betterWeights = constantLogits(manifest, [4096n, 2048n, 0n]);
    const bypass = (): void => void vi.spyOn(committed, 'requireSame').mockImplementation(() => undefined);

    it.each<[string, Partial<typeof input>, string]>([
      ['records with other labels', { examples: better }, 'STEP_MERKLE_D'],
      ['other weights', { weights: { ...input.weights, weights: betterWeights } }, 'STEP_MERKLE_W0'],
      ['another seed of the records', { dataSeed: seedOf('another') }, 'STEP_MERKLE_D'],
      ['another seed of the weights', { weights: { ...input.weights, seed: seedOf('another') } }, 'STEP_MERKLE_W0'],
    ])('is refused by the prover, and by the verifier: %s', (_name, other, code) => {
      const changed = { plan, input: { ...input, ...other } };
      expect(() => proveAccuracy(backend, plan, changed.input)).toThrow('STEP_STATEMENT');
      bypass();
      expect(countVerdict(backend, changed)).toBe(code);
    });

    it('is another statement for another set or other weights', () => {
      const data = commitData(backend, plan, better, input.dataSeed).commitment;
      const other = commitWeights(backend, plan, betterWeights, input.weights.seed).commitment;
      const { proof, statement } = proveAccuracy(backend, plan, {
        ...input,
        statement: { ...input.statement, data },
        examples: better,
      });
      expect(statement.correct).toBe(5);
      expect(codeOfCount(plan, statement, proof)).toBe('accepted');
      expect(codeOfCount(plan, { ...statement, data: input.statement.data }, proof)).toMatch(/^STEP_/);
      expect(codeOfCount(plan, { ...statement, weights: other }, proof)).toMatch(/^STEP_/);
    });
  });

  it('keeps classes that are no classes out', () => {
    // The padded class shares its row with real ones: what is committed there reaches nothing.
    expect(plan.shape.classes).toBe(3);
    expect(brokenPlaces(backend, count, { forge: change({ sel: [[at(3, 0), 1]], q: [[at(3, 0), 5]] }) })).toEqual([]);
    expect(least).toBeLessThan(low);
  });
});
