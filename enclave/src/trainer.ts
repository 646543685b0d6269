/**
 * Trains one job from its start or a checkpoint to its end: run a segment, commit the weights, sign the receipt, seal
 * the checkpoint, tell the host.
 */
import { equalBytes, Rejection } from '#attestation/base';
import { encodeStepStatement, signReceipt } from '#attestation/records';
import { checkpointKey, openCheckpoint, sealCheckpoint } from '#libs/sealing';
import { decodeWeights, divideSteps, encodeWeights, guardSetOf, type Weights } from '#libs/step';
import type { EventOf } from '#libs/wire/channel';
import { checkChain, linked, noChain, segmentStatement, type Chain } from './chain.js';
import { Engine } from './engine/engine.js';
import type { LoadedDataset } from './engine/loaded-dataset.js';
import type { SessionKeys } from './keys.js';
import { progressGate, type ProgressGate } from './progress.js';
import type { ReadyJob } from './ready-job.js';
import type { Stopwatch } from './stopwatch.js';

export interface Trained {
  readonly weights: Weights;
  /** weightsDigest at every segment border; K + 1 of them. */
  readonly borders: readonly Uint8Array[];
  readonly chain: Chain;
}

interface TrainContext {
  readonly keys: SessionKeys;
  readonly threads: number;
  readonly checkpoint: Uint8Array | null;
  readonly signal: AbortSignal;
  readonly watch: Stopwatch;
  /** Called before anything is trained, and after every segment. */
  reached(position: Position): void;
  progress(event: Omit<EventOf<'progress'>, 'type'>): void;
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
export async function trainJob(job: ReadyJob, context: TrainContext): Promise<Trained> {
  const sealingKey = await checkpointKey(job);
  let position: Position = await startOf(job, sealingKey, context.checkpoint);
  context.reached(position);
  const gate = progressGate(job);
  const engine = await Engine.open(job.manifest, { threads: context.threads, guardSet: guardSetOf(job.spec.scheme) });
  try {
    const dataset = engine.load(job.examples);
    while (position.step < job.manifest.steps) {
      const trained = await trainSegment(job, engine, dataset, position, { ...context, gate });
      const signed = await sign(job, trained, context);
      position = signed;
      context.reached(position);
      await tell(job, signed, sealingKey, context);
    }
  } finally {
    await engine.close();
  }
  return position;
}

/** @throws Rejection CHECKPOINT_AUTHENTICATION, CHECKPOINT_STATE, CHECKPOINT_SESSION, CHECKPOINT_RECEIPT, WEIGHTS_* */
export async function startOf(job: ReadyJob, sealingKey: Uint8Array, sealed: Uint8Array | null): Promise<Position> {
  const { weights: start, border: first } = job.genesis;
  if (sealed === null) return { step: 0, weights: start, borders: [first], chain: noChain };
  const checkpoint = await openCheckpoint(sealingKey, job.jobId, sealed);
  const { step, borders, weights: encoded } = checkpoint;
  const weights = decodeWeights(job.manifest, encoded);
  const stepOfBorders = Math.min(
    (borders.length - 1) * divideSteps(job.manifest, job.spec).roundSteps,
    job.manifest.steps,
  );
  const agrees =
    borders.length > 0 &&
    step === stepOfBorders &&
    equalBytes(borders[0]!, first) &&
    equalBytes(borders.at(-1)!, job.commitments.border(borders.length - 1, weights));
  if (agrees) return { step, borders, weights, chain: await checkChain(job, checkpoint) };
  throw new Rejection('CHECKPOINT_STATE', {
    expected: 'borders from the start weights to the weights of the checkpoint, one per segment',
    got: `${borders.length} borders at step ${step}`,
    rule: 'enclave/SPEC.md, checkpoints',
    action: 'go on from another checkpoint, or from the start',
  });
}

async function trainSegment(
  job: ReadyJob,
  engine: Engine,
  dataset: LoadedDataset,
  from: Position,
  context: TrainContext & { readonly gate: ProgressGate },
): Promise<Position> {
  const stepCount = Math.min(job.spec.segmentSteps, job.manifest.steps - from.step);
  const steps = { weights: from.weights, stepFrom: from.step, stepCount };
  const weights = await trainSteps(job, engine, dataset, steps, context);
  const index = from.borders.length;
  const border = await context.watch.measure('commit', () => job.commitments.border(index, weights));
  return { ...from, step: from.step + stepCount, weights, borders: [...from.borders, border] };
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
  engine: Engine,
  dataset: LoadedDataset,
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
      dataset,
      weights,
      fromStep: stepFrom,
      stepCount,
      window: gate.window,
      onChunk({ step, loss, accuracy }) {
        signal.throwIfAborted();
        job.lease.check();
        const told = gate.pass(step, step - chunkBefore, { loss, accuracy });
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
  const ciphertext = await context.watch.measure('sign', () => sealPosition(job, signed, sealingKey));
  await context.checkpointed({ step, statement, receipt, ciphertext });
}

export function sealPosition(
  { jobId }: Pick<ReadyJob, 'jobId'>,
  { step, borders, weights, chain }: Position,
  sealingKey: Uint8Array,
): Promise<Uint8Array> {
  return sealCheckpoint(sealingKey, jobId, { version: 2, step, borders, weights: encodeWeights(weights), ...chain });
}
