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
import { levelsOf, type Level } from '../relation/levels.js';
import type { Plan } from '../relation/plan.js';
import type { Site } from '../transcript/sites.js';
import type { Transcript } from '../transcript/transcript.js';
import type { CombinedClaim } from './flow/pads.js';
import { openLevel, openRows, type TreeRoots } from './leaves.js';
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

/** A level as the proof shows it. */
interface CommittedLevel {
  readonly level: Level;
  readonly root: Uint8Array;
  /** Points outside the domain, and what the vector comes to there. */
  readonly outside: readonly Ext[];
  readonly values: readonly Ext[];
}

/** Weights that a level adds to those of the vector that the level before left, at a point of that vector. */
type AddedWeights = (point: Point) => Ext;

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
  readonly #levels: readonly Level[];
  /** Variables of a row of level 1. */
  readonly #columns: number;

  constructor(
    readonly plan: Plan,
    readonly transcript: Transcript,
    readonly source: ProofSource,
    readonly combined: CombinedClaim,
  ) {
    this.#levels = levelsOf(plan.profile);
    this.#columns = this.#levels[0]!.columnVars;
  }

  check(roots: TreeRoots): void {
    const { plan, transcript, source } = this;
    const { profile } = plan;
    const folded = this.#foldRows();
    const first = this.#commitment(this.#levels[0]!);
    this.#grind(profile.grind0);
    const indices = transcript.indices('queries0', profile.queries0, profile.m + profile.logBlowup);
    const queries = this.#queryRows(indices, roots, folded);
    const beta1 = transcript.challenge('beta1');
    const weights = powersFrom(beta1, beta1, first.values.length + 2 * queries.length);
    const values = [...first.values, ...queries.flatMap(({ row, strip }) => [row, strip])];
    const claim = F.add(folded.claim, dot(weights, values));
    const mean = inversePowerOfTwo(profile.k1 + 1 + this.#columns);
    const { level } = first;
    let end = this.#rounds('levelRowRound', level.rowVars, level.grindFold, F.scale(claim, mean));
    const point = [...end.point];
    const added: { readonly from: number; readonly weightAt: AddedWeights }[] = [];
    let before = first;
    for (const next of this.#levels.slice(1)) {
      const committed = this.#commitment(next);
      const queried = this.#queryLevel(before, end, committed);
      added.push({ from: point.length, weightAt: queried.weightAt });
      end = this.#rounds('levelRowRound', next.rowVars, next.grindFold, queried.claim);
      point.push(...end.point);
      before = committed;
    }
    const { columnVars } = before.level;
    const g = Array.from({ length: 2 ** columnVars }, () => this.#receive());
    const queried = this.#queryLevel(before, end, undefined);
    added.push({ from: point.length, weightAt: queried.weightAt });
    const columns = this.#rounds('columnRound', columnVars, 0, queried.claim);
    point.push(...columns.point);
    const omega1 = this.#omega1(folded, queries, weights, first, point);
    const total = F.sum([omega1, ...added.map(({ from, weightAt }) => weightAt(point.slice(from)))]);
    if (!F.equal(F.mul(evaluate(g, columns.point), total), columns.claim)) {
      throw new Rejection('STEP_FINAL_CHECK', {
        expected: 'the folded vector to meet the claim',
        got: 'another value',
        rule: 'libs/zk/SPEC.md §9.2',
      });
    }
    source.finish();
  }

  /** Root of a level, and its vector outside the domain. */
  #commitment(level: Level): CommittedLevel {
    const root = this.source.root(level.tree);
    this.transcript.absorb(root);
    const outside = Array.from({ length: level.points }, () => this.transcript.challenge('oodLevel'));
    const values = outside.map(() => this.#receive());
    return { level, root, outside, values };
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
    const trees = (['S', 'WT', 'W0', 'D'] as const).filter((tree) => opened[tree].length > 0);
    const parts = trees.map((tree) =>
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

  /**
   * Queries to a level for the vector that it left, and the values outside the domain of the next: the claim that they
   * come to, in mean form, and their weights.
   *
   * @param end  of the level's row rounds
   * @param next the commitment to that vector; none where it stands in the clear
   */
  #queryLevel(
    { level, root }: CommittedLevel,
    end: { readonly point: Point; readonly claim: Ext },
    next: CommittedLevel | undefined,
  ): { readonly claim: Ext; readonly weightAt: AddedWeights } {
    const { transcript } = this;
    const { columnVars, logBlowup } = level;
    this.#grind(level.grind);
    const indices = transcript.indices('queriesLevel', level.queries, columnVars + logBlowup);
    const leaves = openLevel(this.plan, level, this.source, indices, root);
    const folded = weighExt(leaves, eqTable(end.point));
    this.source.queried?.({ level, root, indices, point: end.point, rows: folded });
    const { outside, values } = next ?? { outside: [], values: [] };
    const beta = transcript.challenge('betaLevel');
    const powers = powersFrom(beta, beta, values.length + indices.length);
    const points = indices.map((index) => squarings(domainPoint(index, columnVars, logBlowup), columnVars));
    const claim = F.scale(dot(powers, [...values, ...folded]), inversePowerOfTwo(columnVars));
    return {
      claim: F.add(end.claim, claim),
      weightAt: (point) =>
        dot(powers, [...outside.map((z) => powerWeight(z, point)), ...points.map((y) => powerWeightBase(y, point))]),
    };
  }

  /** Ω_1 of §9.3 without what later levels add. */
  #omega1(
    folded: Folded,
    queries: readonly Query[],
    weights: readonly Ext[],
    { outside }: CommittedLevel,
    point: Point,
  ): Ext {
    const { m, k1, randomRows } = this.plan.profile;
    const [rows, columns] = [point.slice(0, k1 + 1), point.slice(k1 + 1)];
    const isData = F.sub(F.ONE, rows[0]!);
    const randomWeights = Array.from({ length: randomRows }, (_, r) => eqIndex(rows, 2 ** k1 + r));
    const stripRow = eqIndex(rows, 2 ** k1 + randomRows);
    const onPads = dot(
      folded.strip,
      folded.strip.map((_, i) => eqIndex(columns, i)),
    );
    const stripPads = F.scale(F.mul(stripRow, onPads), 1n << BigInt(m));
    const omega = F.mul(isData, omegaAt(this.plan, this.combined, [...folded.rows, ...point.slice(1)]));
    const byOutside = outside.map((z, k) => F.mul(weights[k]!, powerWeight(z, point)));
    let total = F.sum([omega, stripPads, ...byOutside]);
    queries.forEach(({ powers }, k) => {
      const onColumns = powerWeightBase(powers, columns);
      let power = powers[m]!;
      let onRandom = F.ZERO;
      for (const weight of randomWeights) {
        onRandom = F.add(onRandom, F.scale(weight, power));
        power = mul(power, powers[this.#columns]!);
      }
      const onData = F.mul(isData, powerWeightBase(powers.slice(this.#columns), rows.slice(1)));
      const row = F.mul(weights[outside.length + 2 * k]!, F.add(onData, onRandom));
      const strip = F.mul(weights[outside.length + 2 * k + 1]!, stripRow);
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
    this.transcript.grind(this.plan.profile.hash, bits, (seed, count) => this.source.nonce(seed, count));
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
