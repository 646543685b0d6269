/** Proving a segment (libs/zk/SPEC.md §3, §14): the prover runs the verifier and answers its questions. */
import { concatBytes, Rejection, utf8 } from '#attestation/base';
import type { Examples, Weights } from '#libs/step';
import type { ExtArray } from '../commit/backend.js';
import { dataColumns, inSuperblocks, writeLabels, type Columns } from '../commit/columns.js';
import { detached, hashMatrix, type OpenableCommitment, type OpenableTree } from '../commit/commit.js';
import { weightsDigestOf, type Commitment } from '../commit/commitment.js';
import { keccak } from '../commit/keccak.js';
import type { Plan } from '../relation/plan.js';
import { reduceToOneClaim } from '../verifier/flow/flow.js';
import { checkOpening } from '../verifier/opening.js';
import { scheduleOf, superblocksOf, type StepProofStatement } from '../verifier/statement.js';
import { openProtocol } from '../verifier/verify.js';
import type { Backend } from './backend.js';
import { Cells } from './cells.js';
import { executeSegment, weightsAfter, type SegmentWitness } from './execute.js';
import { codeWitness, openable, requireSame, setBlind } from './committed.js';
import { fillPads, proverKey, type OpenStatement } from './mask.js';
import { countLookups } from './multiplicities.js';
import { openingScript, type MaskRows } from './opening-script.js';
import { ProverSource } from './prover-source.js';
import { RecordingTranscript } from './recording-transcript.js';
import { stepScript } from './step-script.js';
import type { SegmentRoom } from './step-state.js';

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
    const cells = new Cells(plan, backend);
    const executed = backend.mark();
    const room = cells.room();
    const superblocks = readSuperblocks(plan, input);
    const segment = runSegment(backend, plan, input, superblocks ? { ...room, superblocks } : room);
    cells.setSegment(segment, superblocks, superblocks ? wholeSet(plan, input, segment) : segment.data);
    const after = weightsAfter(plan.shape, segment);
    backend.release(executed);
    const { result, rejection } = proveCells(backend, cells, input, after, options);
    if (rejection) throw rejection;
    return result;
  } finally {
    backend.release(mark);
  }
}

/** The integers of a segment, multiplicities of the lookups included. */
export function runSegment(backend: Backend, plan: Plan, input: SegmentInput, room?: SegmentRoom): SegmentWitness {
  const { manifest, index } = input.statement;
  const { steps } = plan.shape;
  const firstStep = index * steps;
  const sizes = scheduleOf(manifest, firstStep, steps);
  const examples = room?.superblocks ? input.examples : inOrder(plan, input);
  const segment = executeSegment(
    backend,
    plan.shape,
    input.before.weights,
    examples,
    firstStep,
    sizes,
    undefined,
    room,
  );
  for (const [name, counts] of countLookups(backend, plan.shape, segment)) segment.witness.set(name, counts);
  return segment;
}

/** Which superblock of the set each of several segments reads. */
function readSuperblocks(plan: Plan, { statement }: SegmentInput): readonly number[] | undefined {
  const { steps, segmentVars } = plan.shape;
  return segmentVars > 0 ? superblocksOf(plan, statement.index * steps, statement.recordCount) : undefined;
}

/** The records as the steps read them. */
function inOrder(plan: Plan, input: SegmentInput): Examples {
  const superblocks = readSuperblocks(plan, input);
  const { superblock, batch } = plan.shape.manifest;
  return superblocks ? inSuperblocks(input.examples, superblocks, superblock * batch) : input.examples;
}

/** What the tree of a whole set holds, X where the steps read it. */
function wholeSet({ shape }: Plan, { examples }: SegmentInput, { data }: SegmentWitness): Columns {
  const Y = new Float64Array(shape.widths.at(-1)! * shape.steps * shape.samples);
  writeLabels(shape, Y, examples);
  return new Map([
    ['X', data.get('X')!],
    ['Y', Y],
  ]);
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
    const cells = new Cells(plan, backend);
    const superblocks = readSuperblocks(plan, input);
    cells.setSegment(segment, superblocks, superblocks ? dataColumns(plan.shape, input.examples) : segment.data);
    return proveCells(backend, cells, input, weightsAfter(plan.shape, segment), options);
  } finally {
    backend.release(mark);
  }
}

function proveCells(
  backend: Backend,
  cells: Cells,
  input: SegmentInput,
  weights: Weights,
  options: ProveOptions,
): { result: SegmentProof; rejection?: Rejection } {
  const { plan } = cells;
  options.onPhase?.('commit');
  const committed = commitSegment(backend, plan, input, cells);
  options.onPhase?.('prove');
  const { proof, rejection } = answerVerifier(backend, plan, committed);
  const { statement, trees, afterSeed: seed } = committed;
  const { endings } = trees.WT;
  const after = {
    ...{ weights, seed },
    ...(typeof endings === 'object' && 'given' in endings ? { aux: endings.given } : {}),
    opened: detached({ ...trees.WT, commitment: statement.after }),
  };
  return { result: { proof, statement, after }, ...(rejection ? { rejection } : {}) };
}

interface CommittedSegment {
  readonly statement: StepProofStatement;
  readonly cells: Cells;
  readonly pads: ExtArray;
  readonly masks: MaskRows;
  readonly trees: Readonly<Record<'S' | 'D' | 'W0' | 'WT', OpenableTree>>;
  readonly afterSeed: Uint8Array;
}

function commitSegment(backend: Backend, plan: Plan, input: SegmentInput, cells: Cells): CommittedSegment {
  const { before, dataSeed, statement } = input;
  setBlind(cells, 'W0', before.seed);
  setBlind(cells, 'D', dataSeed);
  const W0 = openable(cells, 'W0', before.seed, before.opened, before.aux);
  const D = openable(cells, 'D', dataSeed, input.openedData);
  requireSame('before', W0, statement.before);
  requireSame('data', D, statement.data);
  const known = knownAfter(cells, input);
  const key = proverKey(input.secret, statement, plan, cells, { seed: input.afterSeed, commitment: known?.commitment });
  const afterSeed = input.afterSeed ?? keccak(concatBytes(key, utf8('weights')));
  setBlind(cells, 'WT', afterSeed);
  const pads = fillPads(backend, plan, cells, key);
  const { S, WT, after, masks } = commitWitness(cells, key, { afterSeed, known });
  const full = { ...statement, after, outerDigest: statement.outerDigest(weightsDigestOf(after, plan)) };
  return { statement: full, cells, pads, masks, trees: { S, D, W0, WT }, afterSeed };
}

/** The commitment to the weights after where it exists before the proof: the key is of cells without its blind ones. */
function knownAfter(cells: Cells, { afterSeed }: SegmentInput): OpenableCommitment | undefined {
  if (cells.plan.variant !== 'separate' || afterSeed === undefined) return undefined;
  setBlind(cells, 'WT', afterSeed);
  const known = openable(cells, 'WT', afterSeed);
  cells.block('WT', 'z').fill(0n);
  return known;
}

/** The step witness and the weights after, in one tree or in two (libs/zk/SPEC.md §4.4). */
function commitWitness(
  cells: Cells,
  key: Uint8Array,
  { afterSeed, known }: { readonly afterSeed: Uint8Array; readonly known: OpenableCommitment | undefined },
): { S: OpenableTree; WT: OpenableTree; after: Commitment; masks: MaskRows } {
  const { backend, plan } = cells;
  const { profile } = plan;
  const { matrix, masks } = codeWitness(cells, key);
  if (plan.variant === 'separate') {
    const WT = known ?? openable(cells, 'WT', afterSeed);
    const S = { matrix, tree: hashMatrix(backend, 'S', matrix, profile) };
    return { S, WT, after: WT.commitment, masks };
  }
  const leaves = new Uint8Array(32 * 2 ** (profile.m + profile.logBlowup));
  hashMatrix(backend, 'S', matrix, profile, { leaves });
  const WT = openable(cells, 'WT', afterSeed, undefined, leaves);
  return { S: { matrix, tree: WT.tree }, WT, after: WT.commitment, masks };
}

function answerVerifier(
  backend: Backend,
  plan: Plan,
  committed: CommittedSegment,
): { proof: Uint8Array; rejection?: Rejection } {
  const { statement, cells, pads, masks, trees } = committed;
  const transcript = new RecordingTranscript();
  const source = new ProverSource(backend, plan.profile, pads, trees);
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
