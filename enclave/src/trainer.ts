/**
 * Trains one job from its start or a checkpoint to its end: run a segment, commit the weights, sign the receipt, seal
 * the checkpoint, tell the host.
 */
import { equalBytes } from '#attestation/base';
import { checkpointPiecesContext, encodeCheckpointHead, encodeStepStatement, signReceipt } from '#attestation/records';
import { checkpointKey, sealCheckpoint, sealPieces } from '#libs/sealing';
import { divideSteps, encodeWeights, weightParts, type Weights } from '#libs/step';
import type { EventOf } from '#libs/wire/channel';
import { bestOf } from './best.js';
import { checkChain, linked, noChain, segmentStatement, type Chain } from './chain.js';
import { loadEngine, type LoadedEngine } from './engine/load-engine.js';
import { openEvaluator, type Evaluator, type Measured } from './evaluate.js';
import { isOver } from './evaluated.js';
import { checkpointRefused } from './failure.js';
import type { SessionKeys } from './keys.js';
import { isLarge, sendPieces, stateBytes, type SendPiece } from './pieces.js';
import { evaluationTeller, progressGate, toldEdges, type EvaluationTeller, type ProgressGate } from './progress.js';
import type { ReadyJob } from './ready-job.js';
import { readResumed, type GivenCheckpoint } from './resume.js';
import type { Stopwatch } from './stopwatch.js';

export interface Trained {
  readonly weights: Weights;
  /** weightsDigest at every segment border; K + 1 of them. */
  readonly borders: readonly Uint8Array[];
  readonly chain: Chain;
  /** In a job with a rule to stop by: what is delivered. Null: the last weights are. */
  readonly best: Measured | null;
}

interface TrainContext {
  readonly keys: SessionKeys;
  readonly threads: number;
  readonly checkpoint: GivenCheckpoint | null;
  readonly signal: AbortSignal;
  readonly watch: Stopwatch;
  /** Called before anything is trained, and after every segment. */
  reached(position: Position): void;
  progress(event: Omit<EventOf<'progress'>, 'type'>): void;
  evaluated(event: Omit<EventOf<'evaluation'>, 'type'>): void;
  /** Of the checkpoint that is told next. */
  piece: SendPiece;
  /** Waited for: the process that trains sends nothing meanwhile. */
  checkpointed(event: Omit<EventOf<'checkpoint'>, 'type'>): Promise<void>;
}

export interface Position extends Trained {
  readonly step: number;
}

/**
 * @throws GuardViolation naming step and tensor; Rejection CHECKPOINT_*, WEIGHTS_*, ATTESTATION_LAPSED; the signal's
 * reason when it was cancelled
 */
export async function trainJob(job: ReadyJob, context: TrainContext): Promise<Position> {
  const sealingKey = await checkpointKey(job);
  let position: Position = await startOf(job, sealingKey, context.checkpoint);
  context.reached(position);
  const gate = progressGate(job);
  const engine = await loadEngine(job, context.threads);
  const evaluator = await openEvaluator(job, context.threads);
  const teller = evaluationTeller(job, position.chain, (event) => context.evaluated(event));
  try {
    while (position.step < job.manifest.steps && !isOver(position.chain)) {
      const trained = await trainSegment(job, { engine, evaluator }, position, { ...context, gate, teller });
      const signed = await sign(job, trained, context);
      position = signed;
      context.reached(position);
      await tell(job, signed, sealingKey, context);
    }
  } finally {
    await evaluator?.close();
    await engine.close();
  }
  return position;
}

/** @throws Rejection CHECKPOINT_AUTHENTICATION, CHECKPOINT_STATE, CHECKPOINT_SESSION, CHECKPOINT_RECEIPT, CHECKPOINT_EVALUATIONS, WEIGHTS_* */
export async function startOf(job: ReadyJob, sealingKey: Uint8Array, given: GivenCheckpoint | null): Promise<Position> {
  const { weights: start, border: first } = job.genesis;
  if (given === null) return { step: 0, weights: start, borders: [first], chain: noChain, best: null };
  const checkpoint = await readResumed(job, sealingKey, given);
  const { step, borders, weights } = checkpoint;
  const stepOfBorders = Math.min(
    (borders.length - 1) * divideSteps(job.manifest, job.spec).roundSteps,
    job.manifest.steps,
  );
  const agrees =
    borders.length > 0 &&
    step === stepOfBorders &&
    equalBytes(borders[0]!, first) &&
    equalBytes(borders.at(-1)!, job.commitments.border(borders.length - 1, weights));
  if (agrees) {
    const chain = await checkChain(job, checkpoint);
    const own = { step, weights, digest: borders.at(-1)! };
    return { step, borders, weights, chain, best: bestOf(job, chain, own, checkpoint.best) };
  }
  const expected = 'borders from the start weights to the weights of the checkpoint, one per segment';
  throw checkpointRefused('CHECKPOINT_STATE', expected, `${borders.length} borders at step ${step}`);
}

interface Running {
  readonly engine: LoadedEngine;
  readonly evaluator: Evaluator | null;
}

type SegmentContext = TrainContext & { readonly gate: ProgressGate; readonly teller: EvaluationTeller };

/** Up to the next border, with the evaluations on the way. */
async function trainSegment(
  job: ReadyJob,
  { engine, evaluator }: Running,
  from: Position,
  context: SegmentContext,
): Promise<Position> {
  const end = Math.min(from.step + job.spec.segmentSteps, job.manifest.steps);
  const index = from.borders.length;
  let { weights, chain, best } = from;
  let border: Uint8Array | null = null;
  for (let step = from.step; step < end;) {
    const next = evaluator?.next(step, end) ?? end;
    weights = await trainSteps(job, engine, { weights, stepFrom: step, stepCount: next - step }, context);
    step = next;
    if (step < end && evaluator?.isDue(step) !== true) continue;
    border = await context.watch.measure('commit', () => job.commitments.border(index, weights));
    if (evaluator?.isDue(step) !== true) continue;
    const measured = { step, weights, digest: border };
    const after = await context.watch.measure('train', () =>
      evaluator.evaluate({ chain, best }, measured, context.keys),
    );
    ({ chain, best } = after);
    context.teller.tell(chain, step);
  }
  return { ...from, step: end, weights, borders: [...from.borders, border!], chain, best };
}

interface Steps {
  /** Before the first of them. */
  readonly weights: Weights;
  readonly stepFrom: number;
  readonly stepCount: number;
}

/** @throws GuardViolation; Rejection ATTESTATION_LAPSED; the signal's reason when it was cancelled */
export function trainSteps(
  job: ReadyJob,
  engine: LoadedEngine,
  { weights, stepFrom, stepCount }: Steps,
  {
    watch,
    signal,
    progress,
    gate,
  }: Pick<TrainContext, 'watch' | 'signal' | 'progress'> & { readonly gate: ProgressGate },
): Promise<Weights> {
  let [stepBefore, chunkBefore] = [stepFrom, stepFrom];
  let began = performance.now();
  return watch.measure('train', () =>
    engine.train({
      weights,
      fromStep: stepFrom,
      stepCount,
      window: gate.window,
      onChunk({ step, loss, accuracy, edges }) {
        signal.throwIfAborted();
        job.lease.check();
        const told = gate.pass(step, step - chunkBefore, { loss, accuracy, edges });
        chunkBefore = step;
        if (told === null) return;
        const now = performance.now();
        const samples = (step - stepBefore) * job.manifest.batch;
        progress({
          step,
          of: job.manifest.steps,
          lossMicro: Math.max(0, Math.round(told.loss * 1e6)),
          accuracyPpm: Math.round(told.accuracy * 1e6),
          samplesPerSecond: Math.round((samples / (now - began)) * 1000),
          edges: toldEdges(told.edges),
        });
        stepBefore = step;
        began = now;
      },
    }),
  );
}

/** Signs the last border. */
async function sign(job: ReadyJob, position: Position, { keys, watch }: TrainContext): Promise<Signed> {
  const statement = segmentStatement(job, position.borders, position.borders.length - 2);
  job.lease.check();
  const receipt = await watch.measure('sign', () => signReceipt(statement, keys.binding.receiptKey, keys.signReceipt));
  const chain = linked(position.chain, job.own, { receipt });
  return { ...position, chain, statement: encodeStepStatement(statement), receipt };
}

interface Signed extends Position {
  readonly statement: Uint8Array;
  readonly receipt: Uint8Array;
}

async function tell(job: ReadyJob, signed: Signed, sealingKey: Uint8Array, context: TrainContext): Promise<void> {
  const { step, statement, receipt } = signed;
  const ciphertext = isLarge(signed.weights)
    ? await sendPieces(sealInPieces(job, signed, sealingKey), context.piece)
    : await context.watch.measure('sign', () => sealPosition(job, signed, sealingKey));
  await context.checkpointed({ step, statement, receipt, ciphertext });
}

/** Sealed as it is sent: one piece is in memory at a time. */
function sealInPieces(
  { jobId }: Pick<ReadyJob, 'jobId'>,
  { step, borders, weights, chain, best }: Position,
  key: Uint8Array,
): AsyncIterable<Uint8Array> {
  const { evaluations, ...links } = chain;
  const states = best !== null && best.step !== step ? [weights, best.weights] : [weights];
  const sizes = states.map(stateBytes);
  const head = encodeCheckpointHead({
    ...{ version: 3, step, borders, weights: sizes[0]!, ...links },
    ...(evaluations.length > 0 && { evaluations }),
    ...(states.length > 1 && { best: sizes[1]! }),
  });
  const length = sizes.reduce((sum, size) => sum + size, head.length);
  const associatedData = checkpointPiecesContext(jobId);
  return sealPieces(plaintext(), length, { key, associatedData });

  function* plaintext(): Iterable<Uint8Array> {
    yield head;
    for (const state of states) yield* weightParts(state);
  }
}

export function sealPosition(
  { jobId }: Pick<ReadyJob, 'jobId'>,
  { step, borders, weights, chain, best }: Position,
  sealingKey: Uint8Array,
): Promise<Uint8Array> {
  const { evaluations, ...links } = chain;
  return sealCheckpoint(sealingKey, jobId, {
    ...{ version: 2, step, borders, weights: encodeWeights(weights), ...links },
    ...(evaluations.length > 0 && { evaluations }),
    ...(best !== null && best.step !== step && { best: encodeWeights(best.weights) }),
  });
}
