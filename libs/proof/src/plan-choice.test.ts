import { expect, it } from 'vitest';
import { profileManifest, type ProfileParameters } from '#libs/step';
import { smallProofs } from '#test/small-proof';
import { proverMemoryMiB, transactionProofBytesMax } from './limits.js';
import { splitProfiles } from '#attestation/records';
import { isInTwoParts, profiles } from '#libs/zk/verifier';
import { explainPlan } from './plan-choice.js';
import { expectedProofBytes } from './proof-size.js';
import { planOf } from './statement.js';

const seed = `0x${'5a'.repeat(32)}`;
const mnist = (superblock: number, parameters: Partial<ProfileParameters> = {}) =>
  profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 64, seed, superblock, ...parameters });
const chosen = (superblock: number, onChain: boolean): string =>
  explainPlan(mnist(superblock), 'auto', 'joint', onChain).plan.profile.name;

it.each([
  [1, 'chain1', 'chain1'],
  [4, 'chain1', 'chain1'],
  [16, 'fast16-blake3', 'chain26'],
  [64, 'fast64-blake3', 'chain64'],
  [128, 'large-blake3', 'steps128'],
  [256, 'large-blake3', 'chain256'],
])('segments of %i steps: %s, and %s where the contract takes them', (superblock, usual, onChain) => {
  expect([chosen(superblock, false), chosen(superblock, true)]).toEqual([usual, onChain]);
});

it('takes many queries with little grinding for no more than 2^19 cells', () => {
  const tiny = mnist(16, { dims: [16, 8, 4], batch: 8 });
  const { plan } = explainPlan(tiny, 'auto', 'joint');
  expect(plan.profile.name).toBe('small-blake3');
  expect(() => explainPlan(mnist(16), 'small', 'joint')).toThrow('STEP_PLAN');
});

it('says why', () => {
  const why = (superblock: number, onChain: boolean, name = 'auto') =>
    explainPlan(mnist(superblock), name, 'joint', onChain).why;
  expect(why(16, true)).toMatch(/about 11\d,\d{3} bytes: .* fits one transaction \(120,000\)/);
  expect(why(64, true)).toMatch(/about 10\d,\d{3} bytes: .* chain64, .* fits one transaction/);
  expect(why(256, true)).toMatch(
    /about 13\d,\d{3} bytes: .* chain256 whose proof fits two transactions \(120,000 in each\)/,
  );
  const wide = mnist(2, { dims: [784, 4096, 2048, 10], e: 8 });
  expect(explainPlan(wide, 'auto', 'joint', true).why).toMatch(/the first of .* large .*; no contract verifies/);
  expect(why(16, false)).toMatch(/segments of 16 steps: the first of small-blake3, fast16-blake3/);
  expect(why(16, true, 'fast16')).toBe('asked for by name');
});

it('takes a unit of several segments where a data set is committed for a job that costs less so', () => {
  const of = (steps: number, records = 60_000, memoryMiB = proverMemoryMiB): string => {
    const needs = { records, memoryBytes: memoryMiB * 2 ** 20 };
    return explainPlan(mnist(64, { steps }), 'auto', 'separate', true, needs).plan.profile.name;
  };
  expect(of(9370)).toBe('unit1024');
  // One unit would prove 896 null steps.
  expect(of(128)).toBe('steps128');
  expect(of(9370, 65_537)).toBe('steps128');
  expect(of(9370, 60_000, 1536)).toBe('steps128');
  expect(of(9370, 70_000, 4096)).toBe('unit2048');
  const { why } = explainPlan(mnist(64, { steps: 9370 }), 'auto', 'separate', true, {
    records: 60_000,
    memoryBytes: 2 ** 32,
  });
  expect(why).toBe('5 proofs of 2048 steps cost less gas than one for each 64, and take no longer');
});

it('refuses what no profile proves with 100 bits', () => {
  for (const onChain of [false, true]) {
    expect(() => explainPlan(mnist(1, { e: 2 }), 'auto', 'joint', onChain)).toThrow('STEP_PLAN');
  }
});

it('expects the length that proofs have', () => {
  const proofs = smallProofs();
  for (const { proof, statement } of proofs) {
    expect(Math.abs(expectedProofBytes(planOf(statement)) - proof.length)).toBeLessThan(0.03 * proof.length);
  }
  // As measured (contracts/snapshots/zk-gas.json): sixteen steps leave room for the rest of a settlement.
  expect(expectedProofBytes(explainPlan(mnist(16), 'chain26', 'joint').plan)).toBeLessThan(transactionProofBytesMax);
});

it('has two transactions for the profiles whose duties the verifier in two transactions meets, and for no other', () => {
  expect([...profiles.values()].filter(isInTwoParts).map(({ name }) => name)).toEqual(splitProfiles);
});
