/** Proving that committed weights class at least so many records of a committed set right (libs/zk/SPEC.md §21). */
import { Rejection } from '#attestation/base';
import type { Examples, Weights } from '#libs/step';
import { hashMatrix, type OpenableCommitment } from '../commit/commit.js';
import type { Plan } from '../relation/plan.js';
import { accuracyContext, accuracyScheme, openAccuracy, type AccuracyStatement } from '../verifier/accuracy.js';
import { reduceCount } from '../verifier/flow/count.js';
import { checkOpening } from '../verifier/opening.js';
import type { Backend } from './backend.js';
import { Cells } from './cells.js';
import { codeWitness, openable, requireSame, setBlind } from './committed.js';
import { executeSegment, type SegmentWitness } from './execute.js';
import { accuracyKey, fillPads } from './mask.js';
import { countLookups } from './multiplicities.js';
import { openingScript } from './opening-script.js';
import type { ProverPhase, WeightSecret } from './prove.js';
import { ProverSource } from './prover-source.js';
import { RecordingTranscript } from './recording-transcript.js';
import { stepScript } from './step-script.js';

export interface AccuracyInput {
  /** Commitments must be those that weights, records and seeds give. */
  readonly statement: Omit<AccuracyStatement, 'correct'>;
  /** Most records to show right; absent: all that are. */
  readonly correctMax?: number | undefined;
  readonly weights: WeightSecret;
  readonly examples: Examples;
  readonly dataSeed: Uint8Array;
  readonly openedData?: OpenableCommitment;
  /** 32 secret bytes of this prover. */
  readonly secret: Uint8Array;
}

export interface AccuracyProof {
  readonly proof: Uint8Array;
  readonly statement: AccuracyStatement;
}

/**
 * @throws GuardViolation GUARD_VIOLATION when a value leaves its range
 * @throws Rejection STEP_STATEMENT when a commitment is not that of the given values; as `verifyAccuracyProof` when the
 *   proof would not be accepted
 */
export function proveAccuracy(
  backend: Backend,
  plan: Plan,
  input: AccuracyInput,
  onPhase?: (phase: ProverPhase) => void,
): AccuracyProof {
  const mark = backend.mark();
  try {
    onPhase?.('execute');
    const cells = new Cells(plan, backend);
    const executed = backend.mark();
    const { witness, correct } = classRecords(backend, plan, input, cells);
    cells.setSegment(witness, undefined, witness.data);
    backend.release(executed);
    const { result, rejection } = proveCells(cells, input, correct, onPhase);
    if (rejection) throw rejection;
    return result;
  } finally {
    backend.release(mark);
  }
}

/** The integers of a forward pass, multiplicities of the lookups included, and how many records they show right. */
export function classRecords(
  backend: Backend,
  plan: Plan,
  { weights, examples, correctMax = Infinity }: AccuracyInput,
  cells?: Cells,
): { witness: SegmentWitness; correct: number } {
  const { shape } = plan;
  const witness = executeSegment(backend, shape, weights.weights, examples, 0, [0], undefined, cells?.room());
  const correct = showAtMost(plan, witness, correctMax);
  for (const [name, counts] of countLookups(backend, shape, witness)) witness.witness.set(name, counts);
  return { witness, correct };
}

/** How many records weights class right. @throws GuardViolation GUARD_VIOLATION */
export function countRight(backend: Backend, plan: Plan, weights: Weights, examples: Examples): number {
  const mark = backend.mark();
  try {
    return rightRecords(plan, executeSegment(backend, plan.shape, weights, examples, 0, [0])).length;
  } finally {
    backend.release(mark);
  }
}

/** Places in [class, record] of the classes that are selected, of real records. */
function rightRecords({ shape }: Plan, { witness }: SegmentWitness): number[] {
  const sel = witness.get('sel')!;
  const places = Array.from({ length: shape.classes * shape.batch }, (_, k) => {
    return Math.floor(k / shape.batch) * shape.samples + (k % shape.batch);
  });
  return places.filter((place) => sel[place] === 1);
}

/** Lets go of records that are classed right until no more than so many are left. @returns how many are */
function showAtMost(plan: Plan, segment: SegmentWitness, most: number): number {
  const { samples } = plan.shape;
  const [sel, q] = [segment.witness.get('sel')!, segment.witness.get('q')!];
  const right = rightRecords(plan, segment);
  const shown = Math.min(right.length, most);
  for (const place of right.slice(shown)) {
    sel[place] = 0;
    for (let lower = place - samples; lower >= 0; lower -= samples) q[lower]! += 1;
  }
  return shown;
}

/**
 * Proves whatever the witness says, as `proveWitness` does of a segment: the tests of the verifier are made with it.
 */
export function proveCount(
  backend: Backend,
  plan: Plan,
  input: AccuracyInput,
  witness: SegmentWitness,
  correct: number,
): { result: AccuracyProof; rejection?: Rejection } {
  const mark = backend.mark();
  try {
    const cells = new Cells(plan, backend);
    cells.setSegment(witness, undefined, witness.data);
    return proveCells(cells, input, correct);
  } finally {
    backend.release(mark);
  }
}

function proveCells(
  cells: Cells,
  input: AccuracyInput,
  correct: number,
  onPhase?: (phase: ProverPhase) => void,
): { result: AccuracyProof; rejection?: Rejection } {
  const { backend, plan } = cells;
  const { weights, dataSeed } = input;
  const statement = { ...input.statement, correct };
  onPhase?.('commit');
  setBlind(cells, 'W0', weights.seed);
  setBlind(cells, 'D', dataSeed);
  const W0 = openable(cells, 'W0', weights.seed, weights.opened, weights.aux);
  const D = openable(cells, 'D', dataSeed, input.openedData);
  requireSame('weights', W0, statement.weights);
  requireSame('data', D, statement.data);
  const key = accuracyKey(input.secret, accuracyContext(plan, statement), cells);
  const pads = fillPads(backend, plan, cells, key);
  const { matrix, masks } = codeWitness(cells, key);
  const S = { matrix, tree: hashMatrix(backend, 'S', matrix, plan.profile) };
  onPhase?.('prove');
  const trees = { S, D, W0 };
  const transcript = new RecordingTranscript(accuracyScheme);
  const source = new ProverSource(backend, plan.profile, pads, trees);
  const { protocol, known, roots } = openAccuracy(plan, statement, transcript, source);
  source.follow(stepScript(cells, transcript, pads, [0]));
  const combined = reduceCount(protocol, known, correct);
  transcript.take('eta');
  const publish = source.publish.bind(source);
  source.follow(openingScript({ cells, transcript, combined, masks, trees, publish }));
  try {
    checkOpening(plan, transcript, source, combined, roots);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return { result: { proof: source.bytes(), statement }, rejection: error };
  }
  return { result: { proof: source.bytes(), statement } };
}
