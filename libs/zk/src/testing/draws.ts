/**
 * Soundness calculated again, from what a verifier draws: every challenge of a proof is counted at its site, and the errors
 * of libs/zk/SPEC.md §12 are added as whole numbers of 2^-600, with nothing of soundness.ts.
 */
import type { Profile } from '../commit/params.js';
import { dataTrees } from '../commit/layout/blocks.js';
import type { Backend } from '../prover/backend.js';
import { proveAccuracy } from '../prover/prove-accuracy.js';
import { proveSegment } from '../prover/prove.js';
import type { Plan } from '../relation/plan.js';
import type { Site } from '../transcript/sites.js';
import { Transcript } from '../transcript/transcript.js';
import { ProofBytes } from '../verifier/source.js';
import { accuracyScheme, runAccuracyVerifier } from '../verifier/accuracy.js';
import { runVerifier } from '../verifier/verify.js';
import type { TestCount } from './accuracy.js';
import type { TestSegment } from './segments.js';

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

/**
 * What a draw at a site may go wrong by, a factor 2^-bits where it is ground for: one error for all draws, or one each, 0
 * where a pair of draws counts as one.
 */
function errorsOf({ profile: p, lookups, messages, trees, rowVars, shape }: Plan): Record<Site, bigint | bigint[]> {
  const ground = (error: bigint, bits: number): bigint => (error >> BigInt(bits)) + 1n;
  const c1 = p.m - p.k1;
  const long = code(ratio(BigInt(2 ** p.m + p.randomRows * 2 ** c1), BigInt(2 ** (p.m + p.logBlowup))), p.multiplicity);
  const terms = whole(3 * shape.layers.length + 2 * shape.pieces.length);
  const rows = long.line(1n << BigInt(p.m + p.logBlowup + rowVars - 1));
  const special = inField(2n * long.list);
  const cells = (count: number): bigint => inField(whole(count * 2 ** p.m));
  const outside = (count: number): bigint => times(times(long.list, long.list) >> 1n, power(cells(count), p.oodPoints));
  const pairs = p.deeper !== undefined && p.oodPoints === 2;
  const given = [
    { k: p.k1 + 1, logBlowup: p.logBlowup1, multiplicity: p.multiplicity1, queries: p.queries1, grind: p.grind1 },
    ...(p.deeper ?? []),
  ];
  const folds = [p.grindFold1, ...(p.deeper ?? []).map(({ grindFold }) => grindFold)];
  let vars = p.m + 1;
  const levels = given.map(({ k, logBlowup, multiplicity, queries, grind }, i) => {
    const short = code(ratio(1n, BigInt(2 ** logBlowup)), multiplicity);
    const cells = inField(whole(2 ** vars));
    const values = i === 0 ? 2 * p.queries0 : given[i - 1]!.queries;
    const level = {
      outside: times(times(short.list, short.list) >> 1n, power(cells, pairs ? 2 : 1)),
      beta: inField(times(short.list, whole(values + 2))),
      rounds: k,
      round: ground(short.line(1n << BigInt(vars + logBlowup - 1)), folds[i]!) + inField(2n * short.list),
      queries: ground(power(short.agreement, queries), grind),
    };
    vars -= k;
    return level;
  });
  const last = given.at(-1)!;
  return {
    oodS: [dataTrees.reduce((sum, tree) => sum + outside(trees[tree].rows.length), 0n), 0n],
    // Both of the lookups, of degree 4 but in the 2^16 leaves of the range table, and the facts linear in the leaf point.
    alpha: inField(whole(4 * (2 ** lookups.vars - 65_536) + 65_536)) + inField(whole(lookups.vars)),
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
    oodLevel: levels.flatMap(({ outside }) => [outside, ...(pairs ? [0n] : [])]),
    queries0: ground(power(long.agreement, p.queries0), p.grind0),
    beta1: levels[0]!.beta,
    levelRowRound: levels.flatMap(({ rounds, round }) => new Array<bigint>(rounds).fill(round)),
    queriesLevel: levels.map(({ queries }) => queries),
    betaLevel: [...levels.slice(1).map(({ beta }) => beta), inField(whole(last.queries + 1))],
    columnRound: inField(whole(2)),
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

interface Drawn {
  readonly sites: number;
  /** Of the union over all draws, and of the weakest of them. */
  readonly sumBits: number;
  readonly weakestBits: number;
}

/**
 * @param segment proved and verified: how often each site draws
 * @param plan    of the same shape, whose errors are added; that of the segment unless it is ground for more
 */
export function soundnessByDraws(backend: Backend, segment: TestSegment, plan: Plan = segment.plan): Drawn {
  const { proof, statement } = proveSegment(backend, segment.plan, segment.input);
  return soundnessOf(plan, new CountingTranscript(), (transcript) => {
    runVerifier(segment.plan, statement, transcript, new ProofBytes(proof));
  });
}

/** The same of a statement about a set of records. */
export function countSoundnessByDraws(backend: Backend, { plan, input }: TestCount): Drawn {
  const { proof, statement } = proveAccuracy(backend, plan, input);
  return soundnessOf(plan, new CountingTranscript(accuracyScheme), (transcript) => {
    runAccuracyVerifier(plan, statement, transcript, new ProofBytes(proof));
  });
}

function soundnessOf(plan: Plan, transcript: CountingTranscript, verify: (counted: Transcript) => void): Drawn {
  verify(transcript);
  const errors = errorsOf(plan);
  const drawn = [...transcript.draws].flatMap(([site, count]) => {
    const own = errors[site];
    return Array.from({ length: count }, (_, k) => (Array.isArray(own) ? own[k]! : own));
  });
  return {
    sites: transcript.draws.size,
    sumBits: bits(drawn.reduce((total, error) => total + error, 0n)),
    weakestBits: bits(drawn.reduce((a, b) => (a > b ? a : b))),
  };
}

/** The same with so little grinding that a test makes its proofs: it draws as often. */
export function lightlyGround(profile: Profile): Profile {
  const deeper = profile.deeper?.map((level) => ({ ...level, grind: 8, grindFold: 4 }));
  return { ...profile, grind0: 8, grind1: 8, grindFold: 4, grindFold1: 4, ...(deeper && { deeper }) };
}
