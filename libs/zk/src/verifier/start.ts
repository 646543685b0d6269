/**
 * The start of a job (libs/zk/SPEC.md §2.2, A1): the first segment's weights before are those of the job's seed. Their
 * commitment has a public seed, so the committed rows are known; the leaves that an accepted proof opened and the
 * value outside the domain are compared with them. That the opened polynomials are the initial weights then has the
 * error of the queries.
 */
import { concatBytes, equalBytes, uintBe, utf8 } from '#attestation/base';
import { initialWeights } from '#libs/step';
import type { Commitment } from '../commit/commitment.js';
import { extFromDigest, extWord } from '../commit/field/bytes.js';
import { domainPoint } from '../commit/field/domain.js';
import * as F from '../commit/field/extension.js';
import type { Ext } from '../commit/field/extension.js';
import { P } from '../commit/field/goldilocks.js';
import { powers } from '../commit/field/multilinear.js';
import type { TreeName } from '../commit/hash.js';
import { keccak, keccakMany } from '../commit/keccak.js';
import type { BlockSpec } from '../commit/layout/blocks.js';
import { oodPoints, oodWord } from '../commit/layout/ood.js';
import { refuse } from '../commit/layout/refuse.js';
import { startSeed } from '../commit/layout/start.js';
import { profileNamed, randomPerRow } from '../commit/params.js';
import { derivePlan, type Plan } from '../relation/plan.js';
import { ProofBytes } from './source.js';
import type { StepProofStatement } from './statement.js';
import { verifyFrom, type VerifiedStepProof } from './verify.js';

const rule = 'libs/zk/SPEC.md §2.2, A1';

/** Rows of the weights before, by opened leaf. */
type OpenedRows = ReadonlyMap<number, Uint8Array>;

class StartProof extends ProofBytes {
  readonly opened = new Map<number, Uint8Array>();

  override symbols(tree: TreeName, leaf: number, count: number): Uint8Array {
    const symbols = super.symbols(tree, leaf, count);
    if (tree === 'W0') this.opened.set(leaf, symbols);
    return symbols;
  }
}

/**
 * As `verifyStepProof` for the first segment of a job, and that its weights before are those of the job's seed.
 *
 * @throws Rejection STEP_START when they are not, or their commitment has another seed; as `verifyStepProof`
 */
export function verifyStart(proof: Uint8Array, statement: StepProofStatement): VerifiedStepProof {
  if (statement.index !== 0) refuse('STEP_START', 'the first segment', statement.index, rule);
  const source = new StartProof(proof);
  const accepted = verifyFrom(source, statement);
  const plan = derivePlan(statement.manifest, profileNamed(statement.profile), statement.variant);
  requireInitialWeights(plan, statement.before, source.opened);
  return accepted;
}

/** @throws Rejection STEP_START */
export function requireInitialWeights(plan: Plan, before: Commitment, opened: OpenedRows): void {
  const { m, logBlowup, oodPoints: count } = plan.profile;
  const columns = startColumns(plan);
  const values = oodPoints(before.root, count).map((z) => outsideDomain(plan, columns, z));
  if (!equalBytes(oodWord(values), before.ood)) {
    refuse('STEP_START', 'the value of the initial weights outside the domain', 'another', rule);
  }
  // One random combination of the rows stands for all of them: the leaves were fixed before it is drawn.
  const gamma = extFromDigest(keccak(concatBytes(utf8('fxt-zk/start'), ...opened.values())));
  const weights = powers(gamma, plan.trees.W0.rows.length);
  const points = [...opened.keys()].map((leaf) => domainPoint(leaf, m, logBlowup));
  const due = F.horner(F.weigh(columns, weights), points);
  F.weigh([...opened.values()], weights).forEach((stated, k) => {
    if (F.equal(stated, due[k]!)) return;
    refuse('STEP_START', 'rows of the initial weights under their public seed', extText(stated), rule);
  });
}

function extText(value: Ext): string {
  return [...extWord(value)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** By plan, the latest alone: whoever verifies one proof of a job's start verifies others. */
const latest: { plan?: Plan; columns?: readonly Uint8Array[] } = {};

/**
 * The committed rows, by coefficient: word k of column j is that of row k, the 2^m of the message first, then the random
 * ones.
 */
function startColumns(plan: Plan): readonly Uint8Array[] {
  if (latest.plan === plan) return latest.columns!;
  const { shape, profile, trees } = plan;
  const { rows } = trees.W0;
  const seed = startSeed(shape.manifest);
  const length = 2 ** profile.m + randomPerRow(profile);
  const words = new DataView(new ArrayBuffer(8 * rows.length * length));
  const write = (row: number, at: number, value: bigint): void =>
    words.setBigUint64(8 * (at * rows.length + row), value < 0n ? P + value : value);
  const cellOf = startCells(plan, seed);
  rows.forEach((row, k) => {
    for (const { block, blockStart, rowStart, length: count } of row) {
      for (let i = 0; i < count; i++) write(k, rowStart + i, cellOf(block, blockStart + i));
    }
    elements(seed, 'row', k, randomPerRow(profile)).forEach((value, i) => write(k, 2 ** profile.m + i, value));
  });
  const columns = Array.from({ length }, (_, j) => new Uint8Array(words.buffer, 8 * rows.length * j, 8 * rows.length));
  Object.assign(latest, { plan, columns });
  return columns;
}

/** Integers of the blocks, by their cells; padding is zero. */
function startCells({ shape }: Plan, seed: Uint8Array): (block: BlockSpec, index: number) => bigint {
  const weights = new Map(initialWeights(shape.manifest, keccakMany).map((tensor) => [tensor.name, tensor]));
  const blind = elements(seed, 'blind', 0, 4);
  return (block, index) => {
    if (block.kind === 'z') return blind[index]!;
    const width = 2 ** block.dims.at(-1)!;
    const { dims, values } = weights.get(block.name)!;
    const [outputs, output] = [dims.at(-1)!, index % width];
    return output < outputs ? (values[Math.floor(index / width) * outputs + output] ?? 0n) : 0n;
  };
}

/** PRF of libs/zk/SPEC.md §2.1. */
function elements(seed: Uint8Array, label: string, index: number, count: number): bigint[] {
  const name = utf8(label);
  const prefix = concatBytes(seed, Uint8Array.of(name.length), name, uintBe(index, 8));
  const found: bigint[] = [];
  for (let next = 0; found.length < count;) {
    const hashes = Math.ceil((count - found.length) / 4);
    const inputs = Array.from({ length: hashes }, (_, i) => concatBytes(prefix, uintBe(next + i, 8)));
    const words = new DataView(keccakMany(concatBytes(...inputs), hashes).buffer);
    for (let at = 0; at < words.byteLength && found.length < count; at += 8) {
      const word = words.getBigUint64(at);
      if (word < P) found.push(word);
    }
    next += hashes;
  }
  return found;
}

/** Σ_k Σ_{j < 2^m} row_k[j]·z^{k·2^m + j}. */
function outsideDomain(plan: Plan, columns: readonly Uint8Array[], z: Ext): Ext {
  const size = 2 ** plan.profile.m;
  const perColumn = F.weigh(columns.slice(0, size), powers(F.pow(z, BigInt(size)), plan.trees.W0.rows.length));
  return perColumn.reduceRight((value, sum) => F.add(F.mul(value, z), sum), F.ZERO);
}
