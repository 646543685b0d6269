/** The verification key of a shape: a pure function of (manifest, profile, variant) (SPEC §4.5). */
import { keccak, taggedDigest, uintBe, utf8 } from '#attestation';
import { provability, type Manifest } from '#libs/step';
import { log2Ceil } from '../field/multilinear.js';
import { LEAF_HEADER } from '../merkle/hash.js';
import { randomPerRow, type Profile } from '../params.js';
import { soundness, soundnessBitsMin, type ShapeCounts, type Soundness } from '../soundness.js';
import { dataBlocks, dataTrees, weightBlocks, witnessBlocks, type BlockSpec, type DataTree } from './blocks.js';
import { lookupKinds, lookupLayout, type LookupLayout } from './lookups.js';
import { refuse } from './refuse.js';
import { shapeOf, type Shape } from './shape.js';
import { bySize, counted, layoutWords, treeLayout, type TreeLayout } from './tree-layout.js';

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

export interface PlacedTree extends TreeLayout {
  /** Global row of every stored row. */
  readonly globalRows: readonly number[];
}

/** How many messages, product slots and pads one proof uses (SPEC §6, §7). */
export interface MessageCounts {
  readonly products: number;
  readonly maskedMessages: number;
  /** lg K: product slots. */
  readonly slotVars: number;
  /** lg of the number of pads. */
  readonly padVars: number;
  /** Constraints combined by η. */
  readonly constraints: number;
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

/** Special rows of S after the stored ones: H, Π, E, real and X parts (SPEC §4.2). */
export const specialRows = 6;

/** @throws Rejection STEP_PLAN when this manifest cannot be proved under this profile with 100 bits */
export function derivePlan(manifest: Manifest, profile: Profile, variant: Variant): Plan {
  const plan = derivePlanUnchecked(manifest, profile, variant);
  if (!(plan.soundness.minBits >= soundnessBitsMin)) {
    const weakest = plan.soundness.terms.reduce((a, b) => (b.bits < a.bits ? b : a));
    refuse(
      'STEP_PLAN',
      `${soundnessBitsMin} bits in every round`,
      `${weakest.bits.toFixed(2)} in ${weakest.step}`,
      'step-proof §12',
    );
  }
  return plan;
}

/**
 * The plan without the soundness floor: for tests with small parameters. No door exports it.
 * @throws Rejection STEP_PLAN
 */
export function derivePlanUnchecked(manifest: Manifest, profile: Profile, variant: Variant): Plan {
  if (!variants.includes(variant)) refuse('STEP_PLAN', variants.join(' or '), variant, 'step-proof §4.4');
  const shape = shapeOf(manifest);
  const { provable, reasons } = provability(manifest);
  if (!provable)
    refuse('STEP_PLAN', 'a provable manifest', reasons[0] ?? 'a segment that is too long', 'step-proof §13.3');
  const lookups = lookupLayout(shape);
  const messages = countMessages(shape, lookups);
  const specs: Record<DataTree, BlockSpec[]> = {
    S: witnessBlocks(shape, messages.padVars),
    D: dataBlocks(shape),
    W0: weightBlocks(shape),
    WT: weightBlocks(shape),
  };
  const { trees, vars } = place(specs, profile.m);
  const rowVars = vars - profile.m;
  if (2 * rowVars + profile.queries0 > 2 ** (profile.m - profile.k1)) {
    refuse('STEP_PLAN', 'room for the strip of row pads', rowVars, 'step-proof §13.5');
  }
  const counts: ShapeCounts = {
    lookupVars: lookups.vars,
    globalVars: vars,
    rowsPerTree: dataTrees.map((tree) => trees[tree].rows.length),
    constraints: messages.constraints,
    maskedRounds: (messages.maskedMessages - 1) / 2,
    batchedTerms: 3 * shape.layers.length + 2 * shape.pieces.length,
    productVars: messages.slotVars,
  };
  const core = { shape, profile, variant, lookups, messages, trees, vars, rowVars };
  return { ...core, soundness: soundness(profile, counts), digest: planDigest(core) };
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

/** Global places: blocks of at least a row by size over all trees, then each tree's shared rows (SPEC §4.2). */
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

function countMessages(shape: Shape, lookups: LookupLayout): MessageCounts {
  const { layers, pieces, gaps, stepVars, batchVars, widthVars } = shape;
  const L = layers.length;
  const isSingleStep = stepVars === 0;
  const updates = isSingleStep ? L : 3 * L - 1;
  const leafProducts = lookups.plainLow ? 1 : 2;
  const productTerms = L - 1 + 2 * pieces.length + 1;
  const products = 2 * (lookups.vars - 1) + leafProducts + productTerms + (2 * L - 1) + updates;
  const slotVars = log2Ceil(products + 2);
  const rowVars = stepVars + batchVars;
  const hiddenVars = layers.slice(0, -1).map(({ layer }) => widthVars[layer]!);
  const productRounds = rowVars + Math.max(...hiddenVars, ...pieces.map((piece) => piece.bits));
  const matmulRounds =
    stepVars +
    Math.max(...layers.map(({ layer }) => Math.max(widthVars[layer - 1]!, layer > 1 ? widthVars[layer]! : 0)));
  const rounds = (lookups.vars * (lookups.vars - 1)) / 2 + productRounds + matmulRounds + rowVars + slotVars;
  const maskedMessages = 1 + 2 * rounds + 2 * (L - 1) + 2 * pieces.length + 1;
  const padVars = log2Ceil(3 * 2 ** slotVars + maskedMessages + 4);
  const matmuls = 2 * L - 1;
  const constraints =
    4 +
    (lookups.vars - 1) +
    (2 * leafProducts + 1) +
    (L - 1 + 4 * pieces.length + 2 + 1 + 1 + gaps.length) +
    (isSingleStep ? 2 * matmuls : matmuls) +
    (1 + L + 2 * updates + 1) +
    3;
  return { products, maskedMessages, slotVars, padVars, constraints };
}

function planDigest(plan: Omit<Plan, 'digest' | 'soundness'>): Uint8Array {
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
      LEAF_HEADER[tree],
      trees[tree].hasAux ? 32 : 0,
      ...counted(trees[tree].globalRows),
      ...layoutWords(trees[tree]),
    ]),
    lookups.vars,
    ...counted(lookups.blocks.flatMap(lookupWords)),
    ...[messages.products, messages.maskedMessages, messages.slotVars, messages.padVars],
  ];
  return taggedDigest('fxt-zk/plan/1', keccak(utf8(profile.name)), ...words.map((word) => uintBe(word, 4)));
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
