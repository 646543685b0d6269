/** The step verifier on chain against the one in TypeScript: same verdict, same code (libs/zk/SPEC.md §11). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { concatBytes, uintBe } from '#attestation/base';
import { seedOf } from '../../libs/zk/src/testing/segments.js';
import { backend, choices, judgesAlike, judgesBordersAlike, mutated } from './zk-cases.js';
import { openStepVerifier, type StepVerifierOnChain } from './zk-chain.js';
import { encodeSeal, sealSegment, selector, type SealFields } from './zk-seal.js';

let stepVerifier: StepVerifierOnChain;
beforeAll(async () => {
  stepVerifier = await openStepVerifier();
});
afterAll(() => stepVerifier?.stop());

const onChain: StepVerifierOnChain['judge'] = (...seal) => stepVerifier.judge(...seal);

/** One of each kind here; all of them in zk-shapes.wide.test.ts. */
const quick = [
  '3-4-2',
  'two random rows, another rate',
  'small',
  'null steps',
  'two points outside the domain',
  'two levels, inputs first',
  'three levels, separate, one layer',
  'two levels, mse, rows of one input',
  'mse, rounded errors',
  'mse, four layers, a schedule',
];

describe('honest proofs are accepted on chain', () => {
  it.each(choices.filter(([name]) => quick.includes(name)))('%s', async (_name, choice) => {
    const { fields, digest } = sealSegment(backend, choice);
    expect(await onChain(fields, digest)).toBe('accepted');
  });
});

describe('changed proofs get the code that TypeScript gives', () => {
  it.each(mutated.slice(0, 5))('%s', (name, choice, share) =>
    judgesAlike(onChain, name, choice, Math.ceil(100 * share)),
  );

  it('at the border of the field', () => judgesBordersAlike(onChain, 40));
});

describe('changed statements are refused', () => {
  const { fields, digest } = sealSegment(backend, {});
  const other = seedOf('other');
  const tooBig = new Uint8Array(32).fill(255);
  it.each<[string, (fields: SealFields) => Partial<SealFields>, string]>([
    ['domain', () => ({ domain: other }), 'STEP_STATEMENT'],
    ['terms', (f) => ({ terms: flipped(f.terms, 40) }), 'STEP_STATEMENT'],
    ['spec digest', (f) => ({ terms: flipped(f.terms, 170) }), 'STEP_STATEMENT'],
    ['short terms', (f) => ({ terms: f.terms.subarray(0, 100) }), 'STEP_STATEMENT'],
    ['segment', () => ({ index: 1 }), 'MERKLE_PATH'],
    ['segment beyond the job', () => ({ index: 64 }), 'STEP_STATEMENT'],
    ['manifest', (f) => ({ spec: { ...f.spec, manifestDigest: other } }), 'STEP_STATEMENT'],
    ['data set', (f) => ({ spec: { ...f.spec, datasetRoot: other } }), 'STEP_STATEMENT'],
    ['seed', (f) => ({ spec: { ...f.spec, seed: other } }), 'STEP_STATEMENT'],
    ['schedule', (f) => ({ spec: { ...f.spec, schedule: [2n] } }), 'STEP_STATEMENT'],
    ['step sizes', () => ({ sizes: Uint8Array.of(2) }), 'STEP_STATEMENT'],
    ['number of step sizes', () => ({ sizes: Uint8Array.of(1, 1) }), 'STEP_STATEMENT'],
    ['weights before', (f) => ({ before: { ...f.before, root: other } }), 'STEP_STATEMENT'],
    ['weights after', (f) => ({ afterwards: { ...f.afterwards, root: other } }), 'STEP_STATEMENT'],
    ['value above p', (f) => ({ afterwards: { ...f.afterwards, ood: tooBig } }), 'STEP_STATEMENT'],
    ['data', (f) => ({ data: { ...f.data, root: other } }), 'MERKLE_PATH'],
    ['long path', (f) => ({ dataPath: new Array(32).fill(other) as typeof f.dataPath }), 'MERKLE_INDEX'],
    ['no path', () => ({ dataPath: [] }), 'MERKLE_'],
    ['plan', (f) => ({ plan: flipped(f.plan, f.plan.length - 1) }), 'STEP_STATEMENT'],
    ['plan with two points outside the domain', (f) => ({ plan: with32(f.plan, 4, 1, 16, 6, 2) }), 'STEP_STATEMENT'],
    ['plan with three of them', (f) => ({ plan: with32(f.plan, 4, 1, 16, 6, 3) }), 'STEP_PLAN'],
    ['plan with none', (f) => ({ plan: with32(f.plan, 4, 1, 16, 6, 0) }), 'STEP_PLAN'],
    ['plan with a third order of data', (f) => ({ plan: with32(f.plan, 5, 1, 16, 6, 1, 2) }), 'STEP_PLAN'],
    ['plan with half a level', (f) => ({ plan: with32(f.plan, 8, 1, 16, 6, 1, 0, 2, 3, 5) }), 'STEP_PLAN'],
    [
      'plan with a level that folds all',
      (f) => ({ plan: with32(f.plan, 10, 1, 16, 6, 1, 0, 7, 3, 5, 2, 1) }),
      'STEP_PLAN',
    ],
    ['plan with four levels', (f) => ({ plan: with32(f.plan, 20, 1, 16, 6, 1, 0, ...levels(3)) }), 'STEP_PLAN'],
    ['plan with two levels', (f) => ({ plan: with32(f.plan, 10, 1, 16, 6, 1, 0, ...levels(1)) }), 'STEP_STATEMENT'],
    ['plan of a third loss', (f) => ({ plan: with32(f.plan, 4, 3, 16, 6, 1) }), 'STEP_PLAN'],
    ['plan with errors of 17 bits', (f) => ({ plan: with32(f.plan, 4, 1, 17, 6, 1) }), 'STEP_PLAN'],
    ['plan of another loss', (f) => ({ plan: with32(f.plan, 4, 2, 16, 6, 1) }), 'STEP_STATEMENT'],
    ['plan with a column beyond the known ones', (f) => ({ plan: lastColumn(f.plan, 31) }), 'STEP_PLAN'],
    ['short plan', (f) => ({ plan: f.plan.subarray(0, f.plan.length - 4) }), 'STEP_PLAN'],
  ])('%s', async (_name, change, code) => {
    const got = await onChain({ ...fields, ...change(fields) }, digest);
    if (code.endsWith('_')) expect(got.startsWith(code)).toBe(true);
    else expect(got).toBe(code);
  });

  it('another statement, another selector, no body', async () => {
    expect(await onChain(fields, other)).toBe('STEP_STATEMENT');
    expect(await onChain(fields, digest, `0x00000000${encodeSeal(fields).slice(10)}`)).toBe('SEAL_SELECTOR');
    expect(await onChain(fields, digest, selector)).toBe('SEAL_SELECTOR');
    expect(await onChain(fields, digest, '0x')).toBe('SEAL_SELECTOR');
  });
});

const levels = (count: number): number[] => Array.from({ length: count }, () => [1, 3, 5, 2, 1]).flat();

/** The bytes and 32-bit words behind them. */
function with32(bytes: Uint8Array, ...words: number[]): Uint8Array {
  return concatBytes(bytes, ...words.map((word) => uintBe(word, 4)));
}

/** The last looked-up column, of five words before the last four, as another kind. */
function lastColumn(plan: Uint8Array, kind: number): Uint8Array {
  const copy = Uint8Array.from(plan);
  copy.set(uintBe(kind, 4), plan.length - 36);
  return copy;
}

function flipped(bytes: Uint8Array, place: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[place]! ^= 1;
  return copy;
}
