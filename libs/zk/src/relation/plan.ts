/** The verification key of a shape: a pure function of (manifest, profile, variant) (libs/zk/SPEC.md §4.5). */
import { concatBytes, keccak, taggedDigest, utf8 } from '#attestation/base';
import { canonicalJson, provability, type CanonicalValue, type Manifest } from '#libs/step';
import { leafHeader } from '../commit/hash.js';
import { dataBlocks, dataTrees, weightBlocks, type BlockSpec, type DataTree } from '../commit/layout/blocks.js';
import { log2Ceil } from '../commit/layout/log2.js';
import { refuse } from '../commit/layout/refuse.js';
import { shapeOf, type Shape } from '../commit/layout/shape.js';
import { bySize, counted, layoutWords, treeLayout, wordBytes, type TreeLayout } from '../commit/layout/tree-layout.js';
import { randomPerRow, requireImplemented, type Profile } from '../commit/params.js';
import { soundness, soundnessBitsMin, type ShapeCounts, type Soundness } from '../soundness.js';
import { committedHead } from './heads.js';
import { lookupKinds } from './kinds.js';
import { lookupLayout, type LookupLayout } from './lookups.js';
import { countMessages, type MessageCounts } from './messages.js';
import { witnessBlocks } from './witness-blocks.js';

/**
 * joint: the tree of the weights after carries the step witness in its leaves (chains made by provers).
 * separate: the witness has its own tree and the weights after were committed by anyone, enclaves included.
 */
export type Variant = 'joint' | 'separate';

const variants: readonly Variant[] = ['joint', 'separate'];

export interface PlacedBlock extends BlockSpec {
  readonly tree: DataTree;
  /** First cell in the global hypercube, a multiple of the block's size. */
  readonly offset: number;
}

interface PlacedTree extends TreeLayout {
  /** Global row of every stored row. */
  readonly globalRows: readonly number[];
}

export interface Plan {
  readonly shape: Shape;
  readonly profile: Profile;
  readonly variant: Variant;
  readonly lookups: LookupLayout;
  readonly messages: MessageCounts;
  readonly trees: Readonly<Record<DataTree, PlacedTree>>;
  /** Variables of the global hypercube and of its rows' index. */
  readonly vars: number;
  readonly rowVars: number;
  readonly soundness: Soundness;
  /** 32 bytes. */
  readonly digest: Uint8Array;
}

/** Special rows of S after the stored ones: H, Π, E, real and X parts (libs/zk/SPEC.md §4.2). */
export const specialRows = 6;

/** The newest plans by kind and canonical manifest: deriving one takes as long as half a verification. */
const derivedPlans = new WeakMap<Profile, Map<string, Plan>>();
const derivedPlansMax = 16;

/** @throws Rejection STEP_EXTENSION; STEP_PLAN when this manifest cannot be proved under this profile with 100 bits */
export function derivePlan(manifest: Manifest, profile: Profile, variant: Variant): Plan {
  return keptPlan(manifest, profile, `steps ${variant}`, (own) =>
    derivePlanUnchecked(own, requireImplemented(profile), variant),
  );
}

/**
 * The plan that was derived of late for this manifest, profile and kind, or one derived now.
 * @throws Rejection STEP_PLAN below 100 bits in a round
 */
export function keptPlan(manifest: Manifest, profile: Profile, kind: string, derive: (own: Manifest) => Plan): Plan {
  const text = canonicalJson(manifest as unknown as CanonicalValue);
  const known = derivedPlans.get(profile) ?? new Map<string, Plan>();
  const key = `${kind} ${text}`;
  const plan = known.get(key) ?? requireFloor(derive(JSON.parse(text) as Manifest));
  known.delete(key);
  known.set(key, plan);
  if (known.size > derivedPlansMax) known.delete(known.keys().next().value!);
  derivedPlans.set(profile, known);
  return plan;
}

function requireFloor(plan: Plan): Plan {
  if (!(plan.soundness.minBits >= soundnessBitsMin)) {
    const weakest = plan.soundness.terms.reduce((a, b) => (b.bits < a.bits ? b : a));
    refuse(
      'STEP_PLAN',
      `${soundnessBitsMin} bits in every round`,
      `${weakest.bits.toFixed(2)} in ${weakest.step}`,
      'libs/zk/SPEC.md §12',
    );
  }
  return plan;
}

/**
 * The plan without the soundness floor: for tests with small parameters. No door exports it.
 * @throws Rejection STEP_PLAN
 */
export function derivePlanUnchecked(manifest: Manifest, profile: Profile, variant: Variant): Plan {
  if (!variants.includes(variant)) refuse('STEP_PLAN', variants.join(' or '), variant, 'libs/zk/SPEC.md §4.4');
  const shape = shapeOf(manifest, profile);
  requireProvable(manifest);
  return planOf(shape, profile, variant, 'fxt-zk/plan/1');
}

/** More have less than 100 bits under any profile, and nothing is laid out for them. */
const lookupVarsMax = 26;

/** @throws Rejection STEP_PLAN */
export function requireProvable(manifest: Manifest): void {
  const { provable, reasons } = provability(manifest);
  if (!provable)
    refuse('STEP_PLAN', 'a provable manifest', reasons[0] ?? 'a segment that is too long', 'libs/zk/SPEC.md §13.3');
}

/**
 * The plan of a shape; its digest is under the tag.
 * @throws Rejection STEP_PLAN
 */
export function planOf(shape: Shape, profile: Profile, variant: Variant, tag: string): Plan {
  const lookups = lookupLayout(shape);
  if (lookups.vars > lookupVarsMax) {
    refuse('STEP_PLAN', `at most 2^${lookupVarsMax} lookups`, `2^${lookups.vars}`, 'libs/zk/SPEC.md §12');
  }
  const messages = countMessages(shape, lookups, profile);
  const specs: Record<DataTree, BlockSpec[]> = {
    S: witnessBlocks(shape, messages.padVars),
    D: dataBlocks(shape),
    W0: weightBlocks(shape),
    WT: shape.isForward ? [] : weightBlocks(shape),
  };
  const { trees, vars } = place(specs, profile.m);
  const rowVars = vars - profile.m;
  if (2 * rowVars + profile.queries0 > 2 ** (profile.m - profile.k1)) {
    refuse('STEP_PLAN', 'room for the strip of row pads', rowVars, 'libs/zk/SPEC.md §13.5');
  }
  const counts: ShapeCounts = {
    lookupVars: lookups.vars,
    globalVars: vars,
    rowsPerTree: dataTrees.map((tree) => trees[tree].rows.length).filter((rows) => rows > 0),
    constraints: messages.constraints,
    maskedRounds: messages.rounds,
    batchedTerms: 3 * shape.layers.length + 2 * shape.pieces.length,
    productVars: messages.slotVars,
  };
  const core = { shape, profile, variant, lookups, messages, trees, vars, rowVars };
  return { ...core, soundness: soundness(profile, counts), digest: taggedDigest(tag, planBytes(core)) };
}

export function placedBlock(plan: Plan, tree: DataTree, name: string): PlacedBlock {
  const { blocks, rows, globalRows } = plan.trees[tree];
  const block = blocks.find((candidate) => candidate.name === name);
  if (block === undefined) throw new RangeError(`no block ${name} in tree ${tree}`);
  const rowIndex = rows.findIndex((row) => row.some((segment) => segment.block === block));
  const segment = rows[rowIndex]!.find((candidate) => candidate.block === block)!;
  const offset = globalRows[rowIndex]! * 2 ** plan.profile.m + segment.rowStart - segment.blockStart;
  return { ...block, tree, offset };
}

/**
 * Global places: blocks of at least a row by size over all trees, then each tree's shared rows (libs/zk/SPEC.md §4.2).
 */
function place(specs: Record<DataTree, BlockSpec[]>, m: number) {
  const large = dataTrees.flatMap((tree) => specs[tree].filter((block) => block.vars >= m));
  const firstRow = new Map<BlockSpec, number>();
  let nextRow = 0;
  for (const block of bySize(large)) {
    firstRow.set(block, nextRow);
    nextRow += 2 ** (block.vars - m);
  }
  const trees = {} as Record<DataTree, PlacedTree>;
  for (const tree of dataTrees) {
    const layout = treeLayout(tree, specs[tree], m);
    const globalRows = layout.rows.map((row) => {
      const { block, blockStart } = row[0]!;
      const own = firstRow.get(block);
      return own === undefined ? nextRow++ : own + blockStart / 2 ** m;
    });
    trees[tree] = { ...layout, globalRows };
  }
  return { trees, vars: log2Ceil(nextRow) + m };
}

/**
 * What the digest of a plan is of, after its tag: keccak256(profile name), then 32-bit words (libs/zk/SPEC.md §4.5).
 */
export function planBytes(plan: Omit<Plan, 'digest' | 'soundness'>): Uint8Array {
  const { shape, profile, variant, lookups, messages, trees, vars } = plan;
  const words = [
    variant === 'joint' ? 1 : 2,
    ...profileWords(profile),
    ...counted(shape.manifest.dims),
    shape.manifest.batch,
    shape.manifest.superblock,
    ...shape.layers.flatMap(({ forwardShift, backwardShift, weightBits, biasBits, aIn }) => [
      forwardShift,
      backwardShift ?? 0,
      weightBits,
      biasBits,
      aIn,
    ]),
    shape.manifest.abits,
    shape.lossFraction,
    shape.reciprocalBits,
    ...counted(shape.expValues),
    ...counted([...shape.pieces, ...shape.gaps].flatMap(({ start, bits }) => [start, bits])),
    vars,
    ...dataTrees.flatMap((tree) => [
      leafHeader(tree, profile.hash),
      trees[tree].hasAux ? 32 : 0,
      ...counted(trees[tree].globalRows),
      ...layoutWords(trees[tree]),
    ]),
    lookups.vars,
    ...counted(lookups.blocks.flatMap(lookupWords)),
    ...[messages.products, messages.maskedMessages, messages.slotVars, messages.padVars],
    ...laterWords(shape, profile),
  ];
  return concatBytes(keccak(utf8(profile.name)), wordBytes(words));
}

/**
 * What the words before do not tell: of a loss but the first, errors of less than 16 bits, two out-of-domain points, the
 * order of the data, levels behind the first, steps of more than one segment. Else nothing.
 */
function laterWords(shape: Shape, { oodPoints, deeper }: Profile): number[] {
  const { loss, errorBits, layers, inputsFirst, segmentVars, steps } = shape;
  const { code } = committedHead(loss);
  const usual = [code, errorBits, layers.at(-1)!.aOut, oodPoints];
  if (deeper === undefined && !inputsFirst && segmentVars === 0) {
    return code === 1 && errorBits === 16 && oodPoints === 1 ? [] : counted(usual);
  }
  const levels = (deeper ?? []).flatMap(({ k, logBlowup, queries, grind, grindFold }) => [
    ...[k, logBlowup, queries, grind, grindFold],
  ]);
  return counted([...usual, inputsFirst ? 1 : 0, ...levels, ...(segmentVars > 0 ? [steps] : [])]);
}

function lookupWords(block: LookupLayout['blocks'][number]): number[] {
  return [lookupKinds.indexOf(block.kind), block.layer, block.piece, block.vars, block.offset];
}

function profileWords(profile: Profile): number[] {
  const { version, extensionDegree, m, logBlowup, k1, logBlowup1, queries0, queries1 } = profile;
  const { grind0, grind1, grindFold, grindFold1, digestBytes } = profile;
  const code = [version, extensionDegree, m, logBlowup, randomPerRow(profile), k1, logBlowup1];
  return [...code, queries0, queries1, grind0, grind1, grindFold, grindFold1, digestBytes];
}
