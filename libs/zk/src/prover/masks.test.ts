/**
 * Each mask by itself (libs/zk/SPEC.md §13.5): drawn anew, with everything else of two runs equal, it changes all that
 * it is there to hide; left out, it changes nothing, which is how a missing mask is caught.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex, utf8 } from '#attestation/base';
import { domainPoint } from '../commit/field/domain.js';
import { inverse, mul, pow, sub } from '../commit/field/goldilocks.js';
import { createEngine } from '../commit/kernels/index.js';
import { openingBudget, randomPerRow } from '../commit/params.js';
import * as randomness from '../commit/randomness.js';
import { freezeChallenges } from '../testing/lies.js';
import { common, masksOf, withMask } from '../testing/masks.js';
import { testProfile, testSegment } from '../testing/segments.js';
import { partsOf, type ProofPart } from '../testing/structure.js';
import { KernelBackend } from './kernel-backend.js';
import { proveSegment } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const profile = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3 };

afterEach(() => vi.restoreAllMocks());

const masks = masksOf(testSegment(backend, { profile }).plan);

type Draw = typeof randomness.prfElements;
const drawn: Draw = randomness.prfElements;

interface Run {
  readonly proof: Uint8Array;
  readonly parts: readonly ProofPart[];
  readonly after: string;
}

function run(label: string, seed?: string): Run {
  return withMask(label, seed, () => {
    const { plan, input } = testSegment(backend, { profile });
    const { proof, statement } = proveSegment(backend, plan, input);
    return { proof, parts: partsOf(plan, statement, proof), after: toHex(statement.after.ood) };
  });
}

describe('drawn anew', () => {
  it.each(masks)('%s change all that they hide', (_name, label, hidden) => {
    const [a, b] = [run(label, 'one'), run(label, 'another')];
    expect(hidden(a).length).toBeGreaterThan(0);
    expect(common(hidden, a, b)).toBe(0);
  });

  it.each(masks)('%s, left out, are missed', (_name, label, hidden) => {
    const [a, b] = [run(label), run(label)];
    expect(common(hidden, a, b)).toBe(hidden(a).length);
  });

  it('blind cells change the value outside the domain', () => {
    expect(run('blind', 'one').after).not.toBe(run('blind', 'another').after);
    expect(run('blind').after).toBe(run('blind').after);
  });
});

/**
 * With the challenges fixed, provers differ in their pads alone, so the difference of one message between two of them is
 * that of its pads. Chi-squared of the top four bits of such differences: 15 degrees of freedom.
 */
function unevenness(provers: number, draw?: Draw): number {
  if (draw) vi.spyOn(randomness, 'prfElements').mockImplementation(draw);
  const thaw = freezeChallenges();
  const sent = Array.from({ length: provers }, (_, k) => {
    const own = testSegment(backend, { profile, secret: `prover ${k}` });
    const { proof, statement } = proveSegment(backend, own.plan, own.input);
    const view = new DataView(proof.buffer, proof.byteOffset);
    const messages = partsOf(own.plan, statement, proof).filter(({ kind }) => kind === 'masked');
    return messages.flatMap(({ offset }) => [view.getBigUint64(offset), view.getBigUint64(offset + 8)]);
  });
  thaw();
  const buckets = new Array<number>(16).fill(0);
  for (let k = 1; k < provers; k++) {
    sent[k]!.forEach((word, i) => (buckets[Number(sub(word, sent[k - 1]![i]!) >> 60n)]! += 1));
  }
  const due = buckets.reduce((sum, count) => sum + count, 0) / 16;
  expect(due).toBeGreaterThan(100);
  return buckets.reduce((sum, count) => sum + (count - due) ** 2 / due, 0);
}

describe('messages', () => {
  const limit = 50;

  it('are masked evenly', () => {
    expect(unevenness(6)).toBeLessThan(limit);
  });

  it('are seen not to be when the pads have 60 bits', () => {
    const short: Draw = (engine, seed, label, index, count) => {
      const honest = drawn(engine, seed, label, index, count);
      return label === 'pads' ? honest.map((word) => word & (2n ** 60n - 1n)) : honest;
    };
    expect(unevenness(4, short)).toBeGreaterThan(limit);
  });
});

describe('opened symbols', () => {
  it('are independent up to the opening budget: their matrix over the random coefficients has full rank', () => {
    const t = randomPerRow(profile);
    const count = openingBudget(profile) * profile.queries0;
    expect(count).toBeLessThan(t);
    const stream = keccak_256(utf8('positions'));
    const positions = [
      ...new Set(Array.from({ length: 4 * count }, (_, i) => (i * 37 + stream[i % 32]!) % 2 ** (profile.m + 1))),
    ];
    const rows = positions.slice(0, count).map((index) => {
      const y = domainPoint(index, profile.m, profile.logBlowup);
      return Array.from({ length: t }, (_, j) => pow(y, BigInt(2 ** profile.m + j)));
    });
    expect(rows.length).toBe(count);
    expect(rankOf(rows)).toBe(count);
    expect(rankOf([...rows, rows[0]!])).toBe(count);
  });
});

/** Gaussian elimination over F_p. */
function rankOf(matrix: readonly (readonly bigint[])[]): number {
  const rows = matrix.map((row) => [...row]);
  let rank = 0;
  for (let column = 0; column < rows[0]!.length && rank < rows.length; column++) {
    const pivot = rows.findIndex((row, k) => k >= rank && row[column] !== 0n);
    if (pivot < 0) continue;
    [rows[rank], rows[pivot]] = [rows[pivot]!, rows[rank]!];
    const scale = inverse(rows[rank]![column]!);
    for (let k = rank + 1; k < rows.length; k++) {
      const factor = mul(rows[k]![column]!, scale);
      if (factor === 0n) continue;
      rows[k] = rows[k]!.map((value, j) => sub(value, mul(factor, rows[rank]![j]!)));
    }
    rank += 1;
  }
  return rank;
}
