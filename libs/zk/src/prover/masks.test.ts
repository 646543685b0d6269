/**
 * Each mask by itself (libs/zk/SPEC.md §13.5): drawn anew, with everything else of two runs equal, it changes all that
 * it is there to hide; left out, it changes nothing, which is how a missing mask is caught.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { toHex, utf8 } from '#attestation/base';
import type { BaseArray, CommittingBackend } from '../commit/backend.js';
import { domainPoint } from '../commit/field/domain.js';
import { inverse, mul, pow, sub } from '../commit/field/goldilocks.js';
import { createEngine } from '../commit/kernels/index.js';
import { openingBudget, randomPerRow } from '../commit/params.js';
import * as randomness from '../commit/randomness.js';
import { freezeChallenges } from '../testing/lies.js';
import { seedOf, testProfile, testSegment } from '../testing/segments.js';
import { partsOf, type ProofPart } from '../testing/structure.js';
import { KernelBackend } from './kernel-backend.js';
import * as mask from './mask.js';
import { proveSegment } from './prove.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const profile = { ...testProfile, m: 9, k1: 3, queries0: 4, queries1: 3 };

afterEach(() => vi.restoreAllMocks());

interface Run {
  readonly proof: Uint8Array;
  readonly parts: readonly ProofPart[];
  readonly after: string;
}

type Draw = typeof randomness.prfElements;
const drawn: Draw = randomness.prfElements;

/** A run with fixed challenges and one key, but for what `draw` does to the mask of this label. */
function run(label: string, draw: (honest: Draw, ...given: Parameters<Draw>) => BaseArray): Run {
  vi.spyOn(mask, 'proverKey').mockReturnValue(seedOf('key'));
  vi.spyOn(randomness, 'prfElements').mockImplementation((engine, seed, name, index, count) =>
    name === label ? draw(drawn, engine, seed, name, index, count) : drawn(engine, seed, name, index, count),
  );
  const thaw = freezeChallenges();
  const { plan, input } = testSegment(backend, { profile });
  const { proof, statement } = proveSegment(backend, plan, input);
  const made = { proof, parts: partsOf(plan, statement, proof), after: toHex(statement.after.ood) };
  thaw();
  vi.restoreAllMocks();
  return made;
}

const fresh =
  (seed: string) =>
  (honest: Draw, engine: CommittingBackend, _seed: Uint8Array, name: string, index: number, count: number): BaseArray =>
    honest(engine, seedOf(seed), name, index, count);
const absent = (
  _honest: Draw,
  engine: CommittingBackend,
  _seed: Uint8Array,
  _name: string,
  _index: number,
  count: number,
) => engine.base(count);

type Pick = (run: Run) => readonly ProofPart[];
const { plan } = testSegment(backend, { profile });
const columns = 2 ** (profile.m - profile.k1);
const ofKind =
  (kind: ProofPart['kind']): Pick =>
  ({ parts }) =>
    parts.filter((part) => part.kind === kind);
/** Messages in the clear: v_S, A and B of F6, two per row round, u, v_1, two per round of level 1, g, and columns. */
const clear = ofKind('clear');
const rowRounds: Pick = (made) => clear(made).slice(3, 3 + 2 * plan.rowVars);
const folded: Pick = (made) => {
  const first = 3 + 2 * plan.rowVars + 2 + 2 * (profile.k1 + 1);
  return clear(made).slice(first, first + columns);
};
const stored = plan.trees.S.rows.length;
const symbols =
  (first: number, count: number): Pick =>
  ({ parts }) =>
    parts
      .filter(({ kind, tree }) => kind === 'symbol' && tree === 'S')
      .filter((_, k) => k % (stored + 6) >= first && k % (stored + 6) < first + count);

const masks: readonly (readonly [string, string, Pick])[] = [
  ['the pads', 'pads', ofKind('masked')],
  ['the strip of pads', 'strip', rowRounds],
  ['the mask of the strip', 'strip mask', symbols(stored + 4, 2)],
  ['the mask row', 'H', folded],
  ['the random coefficients of the mask row', 'H random', symbols(stored, 2)],
  ['the random coefficients of the rows', 'row', symbols(0, stored)],
];

/** Parts of a kind that two runs have in common, by their bytes. */
function common(pick: Pick, a: Run, b: Run): number {
  const bytes = (made: Run): string[] =>
    pick(made).map(({ offset, length }) => toHex(made.proof.subarray(offset, offset + length)));
  const other = bytes(b);
  return bytes(a).filter((part, k) => part === other[k]).length;
}

describe('drawn anew', () => {
  it.each(masks)('%s change all that they hide', (_name, label, pick) => {
    const [a, b] = [run(label, fresh('one')), run(label, fresh('another'))];
    expect(pick(a).length).toBeGreaterThan(0);
    expect(common(pick, a, b)).toBe(0);
  });

  it.each(masks)('%s, left out, are missed', (_name, label, pick) => {
    const [a, b] = [run(label, absent), run(label, absent)];
    expect(common(pick, a, b)).toBe(pick(a).length);
  });

  it('blind cells change the value outside the domain', () => {
    expect(run('blind', fresh('one')).after).not.toBe(run('blind', fresh('another')).after);
    expect(run('blind', absent).after).toBe(run('blind', absent).after);
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
