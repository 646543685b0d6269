/** The prover's messages of the batching rounds and of the opening (libs/zk/SPEC.md §8, §9). */
import { extArray, extAt, extList, extView } from '../commit/arrays.js';
import type { ExtArray } from '../commit/backend.js';
import { encodeMatrix, hashMatrix, keptCodewords, rowsOf, type OpenableTree } from '../commit/commit.js';
import { domainPoint } from '../commit/field/domain.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { inversePowerOfTwo } from '../commit/field/goldilocks.js';
import { eqTable, powers } from '../commit/field/multilinear.js';
import type { DataTree } from '../commit/layout/blocks.js';
import { randomPerRow } from '../commit/params.js';
import { levelsOf, type Level, type LevelTree } from '../relation/levels.js';
import type { Plan } from '../relation/plan.js';
import type { Site } from '../transcript/sites.js';
import type { CombinedClaim } from '../verifier/flow/pads.js';
import type { Backend, RoundValues } from './backend.js';
import type { Cells } from './cells.js';
import { OmegaRows } from './omega-rows.js';
import { addQueries } from './query-weights.js';
import type { RecordingTranscript } from './recording-transcript.js';
import { foldedRows, foldProducts, roundOfProducts, rowProducts } from './row-rounds.js';
import type { Script } from './sumcheck-script.js';

/** Bytes of Ω and w, folded, that need no more rounds from products of rows than the fewest. */
const foldedBytes = 2 ** 26;

/**
 * Row variables whose rounds are made from products of rows: of Ω and w one part in 2^4 is kept. Products of more rows take
 * longer, so under a profile that keeps codewords it is one in 2^2 or 2^3 where these take little.
 */
export function rowsTogether({ rowVars, profile: { m, logBlowup } }: Pick<Plan, 'rowVars' | 'profile'>): number {
  const fewest = logBlowup > keptCodewords.logBlowup ? 4 : 2;
  const bytesAfter = (vars: number): number => 2 * 16 * 2 ** (rowVars - vars + m);
  const needed = [2, 3].find((vars) => vars >= fewest && bytesAfter(vars) <= foldedBytes) ?? 4;
  return Math.min(rowVars, needed);
}

/** The six special rows of S as three extension rows (libs/zk/SPEC.md §4.2). */
export interface MaskRows {
  /** 2^m and t elements. */
  readonly H: ExtArray;
  readonly randomH: ExtArray;
  /** 2^{c1} elements each. */
  readonly strip: ExtArray;
  readonly stripMask: ExtArray;
}

export interface OpeningInput {
  readonly cells: Cells;
  readonly transcript: RecordingTranscript;
  readonly combined: CombinedClaim;
  readonly masks: MaskRows;
  /** Those that the plan has rows in. */
  readonly trees: Readonly<Partial<Record<DataTree, OpenableTree>>>;
  /** Receives the tree of each level before its root is asked for. */
  publish(name: LevelTree, tree: OpenableTree): void;
}

export function* openingScript(input: OpeningInput): Script {
  yield* new OpeningScript(input).run();
}

/** Where the root of a level goes out; the tree itself answers. */
const standsForRoot = F.ZERO;

/** A vector and its weights: their product summed is what is claimed. */
interface Weighted {
  readonly weights: ExtArray;
  readonly vector: ExtArray;
}

class OpeningScript {
  readonly #backend: Backend;
  readonly #levels: readonly Level[];
  /** Variables of a row of level 1. */
  readonly #columns: number;

  constructor(readonly input: OpeningInput) {
    this.#backend = input.cells.backend;
    this.#levels = levelsOf(input.cells.plan.profile);
    this.#columns = this.#levels[0]!.columnVars;
  }

  *run(): Script {
    const { transcript } = this.input;
    const { omega, phi, stripWeights, delta } = yield* this.#foldRows();
    const vector = this.#level1Vector(phi, delta);
    const outside = yield* this.#commit(this.#levels[0]!, vector);
    const indices = transcript.takeIndices('queries0');
    const weights = this.#level1Weights(omega, stripWeights, outside, indices, transcript.take('beta1'));
    let state: Weighted = { weights, vector };
    for (const [i, level] of this.#levels.entries()) {
      state = yield* this.#rounds('levelRowRound', level.rowVars, state);
      const next = this.#levels[i + 1];
      let points: readonly Ext[] = [];
      if (next) points = yield* this.#commit(next, state.vector);
      else yield* extList(state.vector);
      this.#addQueries(level, state, points);
    }
    yield* this.#rounds('columnRound', this.#levels.at(-1)!.columnVars, state);
  }

  /** Sends root and values of a level. @returns the points outside the domain */
  *#commit(level: Level, vector: ExtArray): Script<Ext[]> {
    this.input.publish(level.tree, this.#tree(level, vector));
    yield standsForRoot;
    const points = Array.from({ length: level.points }, () => this.input.transcript.take('oodLevel'));
    for (const z of points) yield this.#backend.dot(vector, this.#backend.powers(z, vector.length / 2));
    return points;
  }

  /** The weights of the next level's values outside the domain and of the queries to this one. */
  #addQueries({ columnVars, logBlowup }: Level, { weights }: Weighted, outside: readonly Ext[]): void {
    const { transcript } = this.input;
    const indices = transcript.takeIndices('queriesLevel');
    const beta = transcript.take('betaLevel');
    const factors = powers(beta, outside.length + indices.length + 1).slice(1);
    outside.forEach((z, k) => {
      this.#backend.addScaled(weights, this.#backend.powers(z, weights.length / 2), factors[k]!);
    });
    addQueries(this.#backend, weights, { m: columnVars, logBlowup }, indices, factors.slice(outside.length));
  }

  /** §8: Ω and w over the row variables, then u. */
  *#foldRows(): Script<{ omega: ExtArray; phi: ExtArray; stripWeights: Ext[]; delta: Ext }> {
    const { cells, transcript, combined, masks } = this.input;
    const { plan } = cells;
    const { m } = plan.profile;
    const backend = this.#backend;
    const rows = new OmegaRows(backend, plan, combined);
    const point: Ext[] = [];
    const stripWeights: Ext[] = [];
    const send = function* (round: RoundValues): Script<Ext> {
      const j = point.length;
      const { d, e } = meanOf(round, plan.vars - 1 - j);
      yield F.add(d, extAt(masks.strip, 2 * j));
      yield F.add(e, extAt(masks.strip, 2 * j + 1));
      const rho = transcript.take('rowRound');
      point.push(rho);
      stripWeights.push(F.sub(rho, F.HALF), F.sub(F.square(rho), rho));
      return rho;
    };
    const together = rowsTogether(plan);
    let products = together > 0 ? rowProducts(cells, rows, together) : [];
    while (point.length < together) products = foldProducts(products, yield* send(roundOfProducts(products)));
    let { weights: omega, values } = foldedRows(cells, rows, point);
    while (point.length < plan.rowVars) {
      const rho = yield* send(backend.productRound(undefined, omega, values));
      omega = backend.fold(omega, rho);
      values = backend.fold(values, rho);
    }
    let u = backend.dot(omega, masks.H);
    stripWeights.forEach((weight, i) => {
      u = F.add(u, F.mul(F.scale(weight, 1n << BigInt(m)), extAt(masks.stripMask, i)));
    });
    yield u;
    const delta = transcript.take('delta');
    return { omega, phi: this.#maskedRow(values, point, delta), stripWeights, delta };
  }

  /** f* ‖ R*: the mask row plus δ times the folded rows, random coefficients included. */
  #maskedRow(folded: ExtArray, point: readonly Ext[], delta: Ext): ExtArray {
    const { cells, masks, trees } = this.input;
    const { plan } = cells;
    const backend = this.#backend;
    const size = 2 ** plan.profile.m;
    const t = randomPerRow(plan.profile);
    const out = backend.ext(size + t);
    out.set(masks.H);
    out.set(masks.randomH, 2 * size);
    backend.addScaled(extView(out, 0, size), folded, delta);
    const rowWeights = eqTable(point);
    for (const [tree, { matrix }] of Object.entries(trees) as [DataTree, OpenableTree][]) {
      const weights = extArray(plan.trees[tree].globalRows.map((row) => F.mul(delta, rowWeights[row]!)));
      const random = matrix.random.subarray(0, (weights.length / 2) * t);
      backend.addScaled(extView(out, size, t), backend.bind(random, weights, t), F.ONE);
    }
    return out;
  }

  /** Φ: rows of f*, R*, σ*, zeros. */
  #level1Vector(phi: ExtArray, delta: Ext): ExtArray {
    const { masks, cells } = this.input;
    const { k1 } = cells.plan.profile;
    const vector = this.#backend.ext(2 ** (k1 + 1 + this.#columns));
    vector.set(phi);
    const strip = extView(vector, phi.length / 2, 2 ** this.#columns);
    strip.set(masks.stripMask);
    this.#backend.addScaled(strip, masks.strip, delta);
    return vector;
  }

  #tree({ tree: name, rows: count, columnVars, logBlowup }: Level, vector: ExtArray): OpenableTree {
    const backend = this.#backend;
    const size = 2 ** columnVars;
    const rows = 2 * count;
    const messages = rowsOf(backend.base(rows * size), rows);
    for (let r = 0; r < count; r++) {
      for (let i = 0; i < size; i++) {
        messages[2 * r]![i] = vector[2 * (r * size + i)]!;
        messages[2 * r + 1]![i] = vector[2 * (r * size + i) + 1]!;
      }
    }
    const matrix = encodeMatrix(backend, { messages, random: backend.base(0) }, { m: columnVars, logBlowup });
    return { matrix, tree: hashMatrix(backend, name, matrix, this.input.cells.plan.profile) };
  }

  /** Ω_1 on all of Φ. */
  #level1Weights(
    omega: ExtArray,
    strip: Ext[],
    outside: readonly Ext[],
    indices: readonly number[],
    beta1: Ext,
  ): ExtArray {
    const { m, k1, logBlowup, randomRows } = this.input.cells.plan.profile;
    const backend = this.#backend;
    const size = 2 ** this.#columns;
    const rowEnd = 2 ** m + randomRows * size;
    const weights = backend.ext(2 ** (k1 + 1 + this.#columns));
    weights.set(omega);
    const stripRow = extView(weights, rowEnd, size);
    backend.addScaled(extView(stripRow, 0, strip.length), extArray(strip), F.fromInteger(1n << BigInt(m)));
    const factors = powers(beta1, outside.length + 2 * indices.length + 1).slice(1);
    outside.forEach((z, k) => backend.addScaled(weights, backend.powers(z, weights.length / 2), factors[k]!));
    const ofQueries = factors.slice(outside.length);
    const [ofRows, ofStrips] = [0, 1].map((part) => ofQueries.filter((_, k) => k % 2 === part));
    addQueries(backend, extView(weights, 0, rowEnd), { m, logBlowup }, indices, ofRows!);
    indices.forEach((index, k) => backend.addPowers(stripRow, domainPoint(index, m, logBlowup), ofStrips![k]!));
    return weights;
  }

  /** Mean-form rounds in the clear over the first `count` variables. */
  *#rounds(site: Site, count: number, start: Weighted): Script<Weighted> {
    let state = start;
    for (let j = 0; j < count; j++) {
      const round = this.#backend.productRound(undefined, state.weights, state.vector);
      const { d, e } = meanOf(round, Math.log2(state.vector.length / 2) - 1);
      yield d;
      yield e;
      const rho = this.input.transcript.take(site);
      state = { weights: this.#backend.fold(state.weights, rho), vector: this.#backend.fold(state.vector, rho) };
    }
    return state;
  }
}

/** Sums over 2^vars pairs as means. */
function meanOf({ d, e }: RoundValues, vars: number): RoundValues {
  const factor = inversePowerOfTwo(vars);
  return { d: F.scale(d, factor), e: F.scale(e, factor) };
}
