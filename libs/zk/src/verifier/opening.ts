/** Batching rounds and the opening: from one linear claim to Merkle leaves (libs/zk/SPEC.md §8, §9). */
import { Rejection } from '#attestation/base';
import { readExt, weighExt } from '../commit/field/bytes.js';
import { domainPoint } from '../commit/field/domain.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { inversePowerOfTwo, mul } from '../commit/field/goldilocks.js';
import {
  dot,
  eqIndex,
  eqTable,
  evaluate,
  powerWeight,
  powerWeightBase,
  squarings,
  type Point,
} from '../commit/field/multilinear.js';
import type { Plan } from '../relation/plan.js';
import type { Site } from '../transcript/sites.js';
import type { Transcript } from '../transcript/transcript.js';
import type { CombinedClaim } from './flow/pads.js';
import { openLevel1, openRows, type TreeRoots } from './leaves.js';
import { omegaAt } from './omega.js';
import type { ProofSource } from './source.js';

/** What the row rounds leave behind. */
interface Folded {
  /** ρ over the row variables. */
  readonly rows: Point;
  /** Weights of the strip pads in the masked claim, [2j] and [2j+1] of round j. */
  readonly strip: readonly Ext[];
  /** u + δ·2^m·c: what ⟨Ω', f*⟩ + 2^m·⟨M, σ*⟩ must be. */
  readonly claim: Ext;
  readonly delta: Ext;
}

interface Query {
  /** y, y², y⁴ … y^{2^m}. */
  readonly powers: readonly bigint[];
  /** f* ‖ R* and σ* at y. */
  readonly row: Ext;
  readonly strip: Ext;
}

/** @throws Rejection STEP_POW, STEP_MERKLE_*, STEP_FINAL_CHECK, STEP_NONCANONICAL, STEP_PROOF_LENGTH */
export function checkOpening(
  plan: Plan,
  transcript: Transcript,
  source: ProofSource,
  combined: CombinedClaim,
  roots: TreeRoots,
): void {
  new Opening(plan, transcript, source, combined).check(roots);
}

class Opening {
  readonly #columns: number;

  constructor(
    readonly plan: Plan,
    readonly transcript: Transcript,
    readonly source: ProofSource,
    readonly combined: CombinedClaim,
  ) {
    this.#columns = plan.profile.m - plan.profile.k1;
  }

  check(roots: TreeRoots): void {
    const { plan, transcript, source } = this;
    const { profile } = plan;
    const folded = this.#foldRows();
    const root1 = source.root('L1');
    transcript.absorb(root1);
    const z1 = transcript.challenge('oodLevel1');
    const v1 = this.#receive();
    this.#grind(profile.grind0);
    const indices = transcript.indices('queries0', profile.queries0, profile.m + profile.logBlowup);
    const queries = this.#queryRows(indices, roots, folded);
    const beta1 = transcript.challenge('beta1');
    let claim = F.add(folded.claim, F.mul(beta1, v1));
    const weights = powersFrom(F.square(beta1), beta1, 2 * queries.length);
    queries.forEach(({ row, strip }, k) => {
      claim = F.add(claim, F.add(F.mul(weights[2 * k]!, row), F.mul(weights[2 * k + 1]!, strip)));
    });
    const mean = inversePowerOfTwo(profile.k1 + 1 + this.#columns);
    const level1 = this.#rounds('level1RowRound', profile.k1 + 1, profile.grindFold1, F.scale(claim, mean));
    const { g, weightAt, claim: columnClaim } = this.#queryLevel1(root1, level1);
    const columns = this.#rounds('level1ColumnRound', this.#columns, 0, columnClaim);
    const omega1 = this.#omega1(folded, queries, weights, beta1, z1, level1.point, columns.point);
    const expected = F.mul(evaluate(g, columns.point), F.add(omega1, weightAt(columns.point)));
    if (!F.equal(expected, columns.claim)) {
      throw new Rejection('STEP_FINAL_CHECK', {
        expected: 'the folded vector to meet the claim',
        got: 'another value',
        rule: 'libs/zk/SPEC.md §9.2',
      });
    }
    source.finish();
  }

  /** §8: binds the row variables, messages masked by the strip, then the mask row. */
  #foldRows(): Folded {
    const { plan, transcript, source } = this;
    const { m, grindFold } = plan.profile;
    let claim = F.scale(this.combined.target, inversePowerOfTwo(plan.vars));
    const rows: Ext[] = [];
    const strip: Ext[] = [];
    for (let j = 0; j < plan.rowVars; j++) {
      const d = this.#receive();
      const e = this.#receive();
      this.#grind(grindFold);
      const rho = transcript.challenge('rowRound');
      const [first, second] = [F.sub(rho, F.HALF), F.sub(F.square(rho), rho)];
      claim = F.sum([claim, F.mul(d, first), F.mul(e, second)]);
      rows.push(rho);
      strip.push(first, second);
    }
    const u = source.clear();
    transcript.absorbExt(u);
    this.#grind(grindFold);
    const delta = transcript.challenge('delta');
    return { rows, strip, delta, claim: F.add(u, F.mul(delta, F.scale(claim, 1n << BigInt(m)))) };
  }

  #queryRows(indices: readonly number[], roots: TreeRoots, folded: Folded): Query[] {
    const { m, logBlowup } = this.plan.profile;
    const opened = openRows(this.plan, this.source, indices, roots);
    const rowWeights = eqTable(folded.rows);
    const parts = (['S', 'WT', 'W0', 'D'] as const).map((tree) =>
      F.weigh(
        opened[tree],
        this.plan.trees[tree].globalRows.map((row) => rowWeights[row]!),
      ),
    );
    return indices.map((index, k) => {
      const row = F.sum(parts.map((values) => values[k]!));
      const [h, strip, stripMask] = specialRows(opened.S[k]!);
      return {
        powers: squarings(domainPoint(index, m, logBlowup), m + 1),
        row: F.add(h, F.mul(folded.delta, row)),
        strip: F.add(stripMask, F.mul(folded.delta, strip)),
      };
    });
  }

  /** The folded vector in the clear and its queries: the claim over columns and the weights they add. */
  #queryLevel1(root1: Uint8Array, level1: { point: Point; claim: Ext }) {
    const { plan, transcript, source } = this;
    const { logBlowup1, queries1, grind1 } = plan.profile;
    const g = Array.from({ length: 2 ** this.#columns }, () => this.#receive());
    this.#grind(grind1);
    const indices = transcript.indices('queries1', queries1, this.#columns + logBlowup1);
    const rowWeights = eqTable(level1.point);
    const values = weighExt(openLevel1(plan, source, indices, root1), rowWeights);
    const beta2 = transcript.challenge('beta2');
    const powers = powersFrom(beta2, beta2, indices.length);
    const points = indices.map((index) => squarings(domainPoint(index, this.#columns, logBlowup1), this.#columns));
    return {
      g,
      claim: F.add(level1.claim, F.scale(dot(powers, values), inversePowerOfTwo(this.#columns))),
      weightAt: (columns: Point) =>
        dot(
          powers,
          points.map((y) => powerWeightBase(y, columns)),
        ),
    };
  }

  /** Ω_1 of §9.3 without the queries of level 1. */
  #omega1(
    folded: Folded,
    queries: readonly Query[],
    weights: readonly Ext[],
    beta1: Ext,
    z1: Ext,
    rows: Point,
    columns: Point,
  ): Ext {
    const { m, k1, randomRows } = this.plan.profile;
    const isData = F.sub(F.ONE, rows[0]!);
    const inner = [...rows.slice(1), ...columns];
    const randomWeights = Array.from({ length: randomRows }, (_, r) => eqIndex(rows, 2 ** k1 + r));
    const stripRow = eqIndex(rows, 2 ** k1 + randomRows);
    const columnTable = eqTable(columns);
    const stripPads = F.scale(F.mul(stripRow, dot(folded.strip, columnTable)), 1n << BigInt(m));
    let total = F.mul(isData, omegaAt(this.plan, this.combined, [...folded.rows, ...inner]));
    total = F.add(total, F.add(stripPads, F.mul(beta1, powerWeight(z1, [...rows, ...columns]))));
    queries.forEach(({ powers }, k) => {
      const onColumns = powerWeightBase(powers, columns);
      let power = powers[m]!;
      let onRandom = F.ZERO;
      for (const weight of randomWeights) {
        onRandom = F.add(onRandom, F.scale(weight, power));
        power = mul(power, powers[this.#columns]!);
      }
      const onData = F.mul(isData, powerWeightBase(powers.slice(this.#columns), rows.slice(1)));
      const row = F.mul(weights[2 * k]!, F.add(onData, onRandom));
      const strip = F.mul(weights[2 * k + 1]!, stripRow);
      total = F.add(total, F.mul(F.add(row, strip), onColumns));
    });
    return total;
  }

  /** Rounds of a sumcheck in mean form whose messages are in the clear. */
  #rounds(site: Site, count: number, grindBits: number, start: Ext): { point: Point; claim: Ext } {
    const point: Ext[] = [];
    let claim = start;
    for (let j = 0; j < count; j++) {
      const d = this.#receive();
      const e = this.#receive();
      this.#grind(grindBits);
      const rho = this.transcript.challenge(site);
      claim = F.sum([claim, F.mul(d, F.sub(rho, F.HALF)), F.mul(e, F.sub(F.square(rho), rho))]);
      point.push(rho);
    }
    return { point, claim };
  }

  #receive(): Ext {
    const value = this.source.clear();
    this.transcript.absorbExt(value);
    return value;
  }

  #grind(bits: number): void {
    this.transcript.grind(bits, (seed, count) => this.source.nonce(seed, count));
  }
}

/** The last six symbols of an opened leaf of S: H, Π and E. */
function specialRows(symbols: Uint8Array): [h: Ext, strip: Ext, stripMask: Ext] {
  const end = symbols.length;
  return [readExt(symbols, end - 48), readExt(symbols, end - 32), readExt(symbols, end - 16)];
}

/** first, first·ratio, first·ratio² … */
function powersFrom(first: Ext, ratio: Ext, count: number): Ext[] {
  const list: Ext[] = [];
  let power = first;
  for (let k = 0; k < count; k++) {
    list.push(power);
    power = F.mul(power, ratio);
  }
  return list;
}
