/**
 * Soundness calculated again, from what a verifier draws: a proof is verified, every challenge is counted at its site, and
 * the errors of libs/zk/SPEC.md §12 are added as whole numbers of 2^-600, with nothing of soundness.ts.
 */
import { describe, expect, it } from 'vitest';
import { createEngine } from '../commit/kernels/index.js';
import { dataTrees } from '../commit/layout/blocks.js';
import { profileNamed, type Profile } from '../commit/params.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { proveSegment } from '../prover/prove.js';
import type { Plan, Variant } from '../relation/plan.js';
import { testManifest, testSegment } from '../testing/segments.js';
import type { Site } from '../transcript/sites.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes } from './source.js';
import { runVerifier } from './verify.js';

const scale = 600n;
const one = 1n << scale;
const fieldSize = ((1n << 64n) - (1n << 32n) + 1n) ** 2n;

/** a/b, rounded up. */
const ratio = (a: bigint, b: bigint): bigint => (a * one + b - 1n) / b;
const times = (a: bigint, b: bigint): bigint => (a * b + one - 1n) >> scale;
const whole = (a: number): bigint => BigInt(a) * one;
/** Of a field element that must hit one of `count` values. */
const inField = (count: bigint): bigint => (count + fieldSize - 1n) / fieldSize;

function power(base: bigint, exponent: number): bigint {
  return exponent === 0 ? one : times(base, power(base, exponent - 1));
}

function root(a: bigint): bigint {
  const square = a << scale;
  let guess = 1n << (BigInt(square.toString(2).length) / 2n + 1n);
  for (;;) {
    const next = (guess + square / guess) >> 1n;
    if (next >= guess) return guess + 1n;
    guess = next;
  }
}

/** A Reed-Solomon code at the Johnson radius of multiplicity μ. */
function code(rate: bigint, multiplicity: number) {
  const half = ratio(2n * BigInt(multiplicity) + 1n, 2n);
  const agreement = times(root(rate), one + ratio(1n, 2n * BigInt(multiplicity)));
  const list = (half * one) / root(rate) + 1n;
  const linear =
    ((2n * power(half, 5) + 3n * times(times(half, one - agreement), rate)) * one) / (3n * times(rate, root(rate)));
  return { agreement, list, line: (length: bigint): bigint => inField(linear * length + list) };
}

/** What one draw at a site may go wrong by; a factor 2^-bits where it is ground for. */
function errorsOf({ profile: p, lookups, messages, trees, rowVars, shape }: Plan): Record<Site, bigint> {
  const ground = (error: bigint, bits: number): bigint => (error >> BigInt(bits)) + 1n;
  const c1 = p.m - p.k1;
  const long = code(ratio(BigInt(2 ** p.m + p.randomRows * 2 ** c1), BigInt(2 ** (p.m + p.logBlowup))), p.multiplicity);
  const short = code(ratio(1n, BigInt(2 ** p.logBlowup1)), p.multiplicity1);
  const terms = whole(3 * shape.layers.length + 2 * shape.pieces.length);
  const rows = long.line(1n << BigInt(p.m + p.logBlowup + rowVars - 1));
  const special = inField(2n * long.list);
  const folded = short.line(1n << BigInt(c1 + p.logBlowup1 + p.k1));
  const cells = (count: number): bigint => inField(whole(count * 2 ** p.m));
  const outside = (count: number): bigint => times(times(long.list, long.list) >> 1n, power(cells(count), p.oodPoints));
  return {
    oodS: dataTrees.reduce((sum, tree) => sum + outside(trees[tree].rows.length), 0n),
    // Both of the lookups, and the facts that are linear in the leaf point.
    alpha: inField(whole(4 * 2 ** lookups.vars)) + inField(whole(lookups.vars)),
    beta: 0n,
    gkrLambda: inField(whole(2)),
    gkrMu: inField(whole(1)),
    maskedRound: inField(whole(2)),
    gammaProducts: inField(terms),
    gammaMatmuls: inField(terms),
    gammaClasses: inField(terms),
    gammaUpdates: inField(terms),
    tau: inField(whole(1)),
    eta: inField(whole(messages.constraints)),
    rowRound: ground(rows, p.grindFold) + special,
    delta: ground(rows, p.grindFold) + special,
    oodLevel1: inField(times(times(short.list, short.list), whole(2 ** (p.m + 1))) >> 1n),
    queries0: ground(power(long.agreement, p.queries0), p.grind0),
    beta1: inField(times(short.list, whole(2 * p.queries0 + 2))),
    level1RowRound: ground(folded, p.grindFold1) + inField(2n * short.list),
    queries1: ground(power(short.agreement, p.queries1), p.grind1),
    beta2: inField(whole(p.queries1 + 1)),
    level1ColumnRound: inField(whole(2)),
    pow: 0n,
  };
}

class CountingTranscript extends Transcript {
  readonly draws = new Map<Site, number>();

  #count(site: Site): void {
    this.draws.set(site, (this.draws.get(site) ?? 0) + 1);
  }

  override challenge(site: Site) {
    this.#count(site);
    return super.challenge(site);
  }

  override indices(site: Site, count: number, bits: number): number[] {
    this.#count(site);
    return super.indices(site, count, bits);
  }
}

function bits(error: bigint): number {
  const digits = error.toString(2).length;
  return Number(scale) - digits + 1 - Math.log2(Number(error >> BigInt(digits - 53)) / 2 ** 52);
}

const backend = new KernelBackend(createEngine({ rowLogMax: 14 }));

describe.each<[string, Variant, Partial<Profile>]>([
  ['small', 'joint', {}],
  ['small', 'separate', {}],
  ['chain1', 'joint', { queries0: 20, grindFold: 3 }],
])('soundness of %s, %s, by what a verifier draws', (name, variant, change) => {
  const profile = { ...profileNamed(name), ...change };
  const { plan, input } = testSegment(backend, { profile, variant, manifest: testManifest({ superblock: 2 }) });
  const { proof, statement } = proveSegment(backend, plan, input);
  const transcript = new CountingTranscript();
  runVerifier(plan, statement, transcript, new ProofBytes(proof));
  const errors = errorsOf(plan);
  const sum = [...transcript.draws].reduce((total, [site, count]) => total + BigInt(count) * errors[site], 0n);

  it('is in sum no less than what the plan says, and hardly more', () => {
    expect(bits(sum)).toBeGreaterThanOrEqual(plan.soundness.sumBits - 1e-6);
    expect(bits(sum) - plan.soundness.sumBits).toBeLessThan(0.05);
  });

  it('is in each round no less than in the weakest round of the plan', () => {
    const known = plan.soundness.terms.reduce((weakest, term) => (term.bits < weakest.bits ? term : weakest));
    const weakest = [...transcript.draws.keys()].reduce((a, b) => (errors[a] > errors[b] ? a : b));
    expect(bits(errors[weakest])).toBeCloseTo(known.bits, 1);
  });

  it('draws at every site', () => {
    expect([...transcript.draws.keys()].length).toBeGreaterThanOrEqual(19);
  });
});
