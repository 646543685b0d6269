/**
 * Trains one job from its start or a checkpoint to its end: run a segment, commit the weights, sign the receipt, seal
 * the checkpoint, tell the host.
 */
import {
  encodeStepStatement,
  equalBytes,
  Rejection,
  signReceipt,
  type DatasetManifest,
  type JobSpec,
  type StepStatement,
} from '#attestation';
import {
  decodeWeights,
  divideSteps,
  encodeWeights,
  manifestDigest,
  type Examples,
  type Manifest,
  type Weights,
} from '#libs/step';
import type { JobCommitments } from '#libs/zk/commitment';
import type { EventOf } from './channel/messages.js';
import { checkpointKey, openCheckpoint, sealCheckpoint } from './checkpoint.js';
import { Engine, type LoadedDataset } from './engine/engine.js';
import type { SessionKeys } from './keys.js';
import type { JobLease } from './lease.js';
import type { Stopwatch } from './stopwatch.js';

/** Where a job starts: drawing the weights takes longer than many steps. */
export interface Genesis {
  readonly weights: Weights;
  /** weightsDigest, which the terms name. */
  readonly border: Uint8Array;
}

/** A job whose spec, data and key have all been checked. */
export interface ReadyJob {
  readonly jobId: Uint8Array;
  readonly escrowId: Uint8Array;
  readonly spec: JobSpec;
  readonly manifest: Manifest;
  readonly dataset: DatasetManifest;
  readonly examples: Examples;
  readonly dataKey: Uint8Array;
  readonly commitments: JobCommitments;
  readonly genesis: Genesis;
  readonly lease: JobLease;
  /** The payment reveals the key of the result (settlement §12); else the result opens for the client at once. */
  readonly isRevealed: boolean;
}

export interface Trained {
  readonly weights: Weights;
  /** weightsDigest at every segment border; K + 1 of them. */
  readonly borders: readonly Uint8Array[];
}

export interface TrainContext {
  readonly keys: SessionKeys;
  readonly threads: number;
  readonly checkpoint: Uint8Array | null;
  readonly signal: AbortSignal;
  readonly watch: Stopwatch;
  /** Told before anything is trained, and after every segment. */
  reached(borders: readonly Uint8Array[]): void;
  progress(event: Omit<EventOf<'progress'>, 'type'>): void;
  /** Waited for: the process that trains sends nothing meanwhile. */
  checkpointed(event: Omit<EventOf<'checkpoint'>, 'type'>): Promise<void>;
}

export interface Position extends Trained {
  readonly step: number;
}

/**
 * @throws GuardViolation naming step and tensor; Rejection CHECKPOINT_AUTHENTICATION, CHECKPOINT_STATE, WEIGHTS_*,
 *   ATTESTATION_LAPSED; the signal's reason when it was cancelled
 */
export async function trainJob(job: ReadyJob, context: TrainContext): Promise<Trained> {
  const sealingKey = await checkpointKey(job.dataKey, job.jobId);
  let position = await startOf(job, sealingKey, context.checkpoint);
  context.reached(position.borders);
  const engine = await Engine.open(job.manifest, { threads: context.threads });
  try {
    const dataset = engine.load(job.examples);
    while (position.step < job.manifest.steps) {
      position = await trainSegment(job, engine, dataset, position, context);
      context.reached(position.borders);
      await publish(job, position, sealingKey, context);
    }
  } finally {
    await engine.close();
  }
  return position;
}

/** @throws Rejection CHECKPOINT_AUTHENTICATION, CHECKPOINT_STATE, WEIGHTS_* */
export async function startOf(job: ReadyJob, sealingKey: Uint8Array, sealed: Uint8Array | null): Promise<Position> {
  const { weights: start, border: first } = job.genesis;
  if (sealed === null) return { step: 0, weights: start, borders: [first] };
  const { step, borders, weights: encoded } = await openCheckpoint(sealingKey, job.jobId, sealed);
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
  if (agrees) return { step, borders, weights };
  throw new Rejection('CHECKPOINT_STATE', {
    expected: 'borders from the start weights to the weights of the checkpoint, one per segment',
    got: `${borders.length} borders at step ${step}`,
    rule: 'enclave SPEC, checkpoints',
    action: 'go on from another checkpoint, or from the start',
  });
}

async function trainSegment(
  job: ReadyJob,
  engine: Engine,
  dataset: LoadedDataset,
  from: Position,
  context: TrainContext,
): Promise<Position> {
  const stepCount = Math.min(job.spec.segmentSteps, job.manifest.steps - from.step);
  const steps = { weights: from.weights, stepFrom: from.step, stepCount };
  const weights = await trainSteps(job, engine, dataset, steps, context);
  const index = from.borders.length;
  const border = await context.watch.measure('commit', () => job.commitments.border(index, weights));
  return { step: from.step + stepCount, weights, borders: [...from.borders, border] };
}

export interface Steps {
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
  { watch, signal, progress }: Pick<TrainContext, 'watch' | 'signal' | 'progress'>,
): Promise<Weights> {
  let stepBefore = stepFrom;
  let began = performance.now();
  return watch.measure('train', () =>
    engine.train({
      dataset,
      weights,
      fromStep: stepFrom,
      stepCount,
      onChunk({ step, loss, accuracy }) {
        signal.throwIfAborted();
        job.lease.check();
        const now = performance.now();
        const samples = (step - stepBefore) * job.manifest.batch;
        progress({
          step,
          of: job.manifest.steps,
          lossMicro: Math.max(0, Math.round(loss * 1e6)),
          accuracyPpm: Math.round(accuracy * 1e6),
          samplesPerSecond: Math.round((samples / (now - began)) * 1000),
        });
        stepBefore = step;
        began = now;
      },
    }),
  );
}

async function publish(
  job: ReadyJob,
  position: Position,
  sealingKey: Uint8Array,
  context: TrainContext,
): Promise<void> {
  const { borders, step } = position;
  const stepFrom = (borders.length - 2) * job.spec.segmentSteps;
  const statement: StepStatement = {
    jobId: job.jobId,
    programDigest: manifestDigest(job.manifest),
    datasetRoot: job.spec.dataset.root,
    stepFrom,
    stepCount: step - stepFrom,
    weightsBefore: borders.at(-2)!,
    weightsAfter: borders.at(-1)!,
  };
  const { keys } = context;
  job.lease.check();
  const { receipt, ciphertext } = await context.watch.measure('sign', async () => ({
    receipt: await signReceipt(statement, keys.binding.receiptKey, keys.signReceipt),
    ciphertext: await sealCheckpoint(sealingKey, job.jobId, {
      version: 1,
      step,
      borders,
      weights: encodeWeights(position.weights),
    }),
  }));
  await context.checkpointed({ step, statement: encodeStepStatement(statement), receipt, ciphertext });
}
