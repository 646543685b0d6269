/** Proving a segment (libs/zk/SPEC.md §3, §14): the prover runs the verifier and answers its questions. */
import { concatBytes, Rejection, utf8 } from '#attestation/base';
import type { Examples, Weights } from '#libs/step';
import type { BaseArray, ExtArray } from '../commit/backend.js';
import { dataColumns, inSuperblocks } from '../commit/columns.js';
import {
  buildTree,
  commitColumns,
  detached,
  encodeMatrix,
  rowRandomness,
  type OpenableCommitment,
  type OpenableTree,
} from '../commit/commit.js';
import { weightsDigestOf, type Commitment } from '../commit/commitment.js';
import { LEAF_HEADER } from '../commit/hash.js';
import { keccak } from '../commit/keccak.js';
import { prfElements } from '../commit/randomness.js';
import type { Plan } from '../relation/plan.js';
import { reduceToOneClaim } from '../verifier/flow/flow.js';
import { checkOpening } from '../verifier/opening.js';
import { scheduleOf, superblocksOf, type StepProofStatement } from '../verifier/statement.js';
import { openProtocol } from '../verifier/verify.js';
import type { Backend } from './backend.js';
import { Cells } from './cells.js';
import { executeSegment, weightsAfter, type SegmentWitness } from './execute.js';
import { fillPads, maskRows, proverKey, type OpenStatement } from './mask.js';
import { countLookups } from './multiplicities.js';
import { openingScript, type MaskRows } from './opening-script.js';
import { ProverSource } from './prover-source.js';
import { RecordingTranscript } from './recording-transcript.js';
import { stepScript } from './step-script.js';

/** What opens a weight commitment. */
export interface WeightSecret {
  readonly weights: Weights;
  /** 32 bytes. */
  readonly seed: Uint8Array;
  /** The last 32 bytes of every leaf, where a prover made the commitment; else they follow from the seed. */
  readonly aux?: Uint8Array;
  /** The commitment ready to be opened, when it is still at hand: saves making it again. */
  readonly opened?: OpenableCommitment;
}

export interface SegmentInput {
  /** Commitments `before` and `data` must be those that weights, records and seeds give. */
  readonly statement: OpenStatement;
  readonly before: WeightSecret;
  /** The records of the superblock; of a proof of several segments those of the whole set. */
  readonly examples: Examples;
  readonly dataSeed: Uint8Array;
  readonly openedData?: OpenableCommitment;
  /** 32 secret bytes of this prover. */
  readonly secret: Uint8Array;
  /** Separate variant: the seed of the existing commitment to the weights after. */
  readonly afterSeed?: Uint8Array;
}

export interface SegmentProof {
  readonly proof: Uint8Array;
  readonly statement: StepProofStatement;
  /** What the next segment starts from. */
  readonly after: WeightSecret;
}

/** Phases in order, for progress reports. */
export type ProverPhase = 'execute' | 'commit' | 'prove';

interface ProveOptions {
  onPhase?(phase: ProverPhase): void;
}

/**
 * @throws GuardViolation GUARD_VIOLATION when a value leaves its range
 * @throws Rejection STEP_STATEMENT when a commitment is not that of the given values; as `verifyStepProof` when the
 *   proof would not be accepted
 */
export function proveSegment(
  backend: Backend,
  plan: Plan,
  input: SegmentInput,
  options: ProveOptions = {},
): SegmentProof {
  const mark = backend.mark();
  try {
    options.onPhase?.('execute');
    const segment = runSegment(backend, plan, input);
    const { result, rejection } = proveWitness(backend, plan, input, segment, options);
    if (rejection) throw rejection;
    return result;
  } finally {
    backend.release(mark);
  }
}

/** The integers of a segment, multiplicities of the lookups included. */
export function runSegment(backend: Backend, plan: Plan, input: SegmentInput): SegmentWitness {
  const { manifest, index } = input.statement;
  const { steps } = plan.shape;
  const firstStep = index * steps;
  const sizes = scheduleOf(manifest, firstStep, steps);
  const examples = inOrder(plan, input);
  const segment = executeSegment(backend, plan.shape, input.before.weights, examples, firstStep, sizes);
  for (const [name, counts] of countLookups(backend, plan.shape, segment)) segment.witness.set(name, counts);
  return segment;
}

/** The records as the steps read them. */
function inOrder(plan: Plan, { statement, examples }: SegmentInput): Examples {
  const { manifest, steps, segmentVars } = plan.shape;
  if (segmentVars === 0) return examples;
  const superblocks = superblocksOf(plan, statement.index * steps, statement.recordCount);
  return inSuperblocks(examples, superblocks, manifest.superblock * manifest.batch);
}

/**
 * Proves whatever the witness says. A witness that does not meet the relation gives a proof and the rejection that it
 * meets: the tests of the verifier are made with it.
 */
export function proveWitness(
  backend: Backend,
  plan: Plan,
  input: SegmentInput,
  segment: SegmentWitness,
  options: ProveOptions = {},
): { result: SegmentProof; rejection?: Rejection } {
  const mark = backend.mark();
  try {
    options.onPhase?.('commit');
    const committed = commitSegment(backend, plan, input, segment);
    options.onPhase?.('prove');
    const { proof, rejection } = answerVerifier(backend, plan, committed);
    const { WT } = committed.trees;
    const after = {
      weights: weightsAfter(plan.shape, segment),
      seed: committed.afterSeed,
      ...(plan.variant === 'joint' ? { aux: Uint8Array.from(WT.aux!) } : {}),
      opened: detached({ ...WT, commitment: committed.statement.after }),
    };
    return { result: { proof, statement: committed.statement, after }, ...(rejection ? { rejection } : {}) };
  } finally {
    backend.release(mark);
  }
}

interface CommittedSegment {
  readonly statement: StepProofStatement;
  readonly cells: Cells;
  readonly pads: ExtArray;
  readonly masks: MaskRows;
  readonly trees: Readonly<Record<'S' | 'D' | 'W0' | 'WT', OpenableTree>>;
  readonly afterSeed: Uint8Array;
}

function commitSegment(backend: Backend, plan: Plan, input: SegmentInput, segment: SegmentWitness): CommittedSegment {
  const { profile, trees: layouts } = plan;
  const { before, dataSeed, statement } = input;
  const cells = new Cells(plan, backend);
  const data = plan.shape.segmentVars > 0 ? dataColumns(plan.shape, input.examples) : segment.data;
  cells.setBlocks('S', segment.witness);
  cells.setBlocks('D', data);
  cells.setBlocks('W0', segment.before);
  cells.setBlocks('WT', segment.after);
  cells.setVirtual(segment.virtual);
  if (data !== segment.data) cells.setVirtual(segment.data);
  const W0 = before.opened ?? commitColumns(backend, layouts.W0, profile, segment.before, before.seed, before.aux);
  const D = input.openedData ?? commitColumns(backend, layouts.D, profile, data, dataSeed);
  requireSame('before', W0, statement.before);
  requireSame('data', D, statement.data);
  const known = knownAfter(backend, plan, input, segment);
  const key = proverKey(input.secret, statement, plan, cells, { seed: input.afterSeed, commitment: known?.commitment });
  const afterSeed = input.afterSeed ?? keccak(concatBytes(key, utf8('weights')));
  for (const [tree, seed] of [
    ['W0', before.seed],
    ['D', dataSeed],
    ['WT', afterSeed],
  ] as const) {
    cells.block(tree, 'z').set(prfElements(backend, seed, 'blind', 0, 4));
  }
  const pads = fillPads(backend, plan, cells, key);
  const { S, WT, after, masks } = commitWitness(backend, plan, cells, key, segment, { afterSeed, known });
  const full = { ...statement, after, outerDigest: statement.outerDigest(weightsDigestOf(after, plan)) };
  return { statement: full, cells, pads, masks, trees: { S, D, W0, WT }, afterSeed };
}

/** The commitment to the weights after where it exists before the proof. */
function knownAfter(
  backend: Backend,
  { variant, profile, trees }: Plan,
  { afterSeed }: SegmentInput,
  segment: SegmentWitness,
): OpenableCommitment | undefined {
  if (variant !== 'separate' || afterSeed === undefined) return undefined;
  return commitColumns(backend, trees.WT, profile, segment.after, afterSeed);
}

/** The step witness and the weights after, in one tree or in two (libs/zk/SPEC.md §4.4). */
function commitWitness(
  backend: Backend,
  plan: Plan,
  cells: Cells,
  key: Uint8Array,
  segment: SegmentWitness,
  { afterSeed, known }: { readonly afterSeed: Uint8Array; readonly known: OpenableCommitment | undefined },
): { S: OpenableTree; WT: OpenableTree; after: Commitment; masks: MaskRows } {
  const { profile, trees: layouts } = plan;
  const special = maskRows(backend, plan, key);
  const stored = cells.rows('S');
  const storedRandom = rowRandomness(backend, key, layouts.S.rows.length, profile);
  const messages = joined(backend, stored, special.messages);
  const rows = {
    messages,
    random: joined(backend, storedRandom, special.random),
    rows: messages.length / 2 ** profile.m,
  };
  const { matrix, leaves } = encodeMatrix(backend, LEAF_HEADER.S, rows, profile);
  if (plan.variant === 'separate') {
    const WT = known ?? commitColumns(backend, layouts.WT, profile, segment.after, afterSeed);
    const S = { matrix, tree: buildTree(backend, leaves, profile.digestBytes) };
    return { S, WT, after: WT.commitment, masks: special.masks };
  }
  const WT = commitColumns(backend, layouts.WT, profile, segment.after, afterSeed, leaves);
  return { S: { matrix, tree: WT.tree }, WT, after: WT.commitment, masks: special.masks };
}

function answerVerifier(
  backend: Backend,
  plan: Plan,
  committed: CommittedSegment,
): { proof: Uint8Array; rejection?: Rejection } {
  const { statement, cells, pads, masks, trees } = committed;
  const transcript = new RecordingTranscript();
  const source = new ProverSource(backend, pads, trees);
  const { context, protocol, known, roots } = openProtocol(plan, statement, transcript, source);
  source.follow(stepScript(cells, transcript, pads, context.stepSizes));
  const combined = reduceToOneClaim(protocol, known, context.stepSizes);
  transcript.take('eta');
  const publish = source.publish.bind(source);
  source.follow(openingScript({ cells, transcript, combined, masks, trees, publish }));
  try {
    checkOpening(plan, transcript, source, combined, roots);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return { proof: source.bytes(), rejection: error };
  }
  return { proof: source.bytes() };
}

function requireSame(name: string, made: OpenableCommitment, given: Commitment): void {
  const same = (a: Uint8Array, b: Uint8Array): boolean => a.every((byte, i) => byte === b[i]) && a.length === b.length;
  if (same(made.commitment.root, given.root) && same(made.commitment.ood, given.ood)) return;
  throw new Rejection('STEP_STATEMENT', {
    expected: `the commitment '${name}' of the given values and seed`,
    got: 'another commitment',
    rule: 'libs/zk/SPEC.md §2.1',
  });
}

function joined(backend: Backend, a: BaseArray, b: BaseArray): BaseArray {
  const out = backend.base(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}
