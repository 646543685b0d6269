/** The steps of a job without their proofs: weights and a checkpoint at every border. */
import { x25519 } from '@noble/curves/ed25519.js';
import { concatBytes, equalBytes, Rejection } from '#attestation/base';
import { encodeStepStatement, type Checkpoint } from '#attestation/records';
import { checkpointKey, openCheckpoint, sealCheckpoint, sealResult } from '#libs/sealing';
import { decodeWeights, encodeWeights, explained, GuardViolation, manifestDigest, type Weights } from '#libs/step';
import type { Backend } from '#libs/zk';
import type { ComputedJob } from './job.js';

export interface Border {
  /** Segments done. */
  readonly index: number;
  readonly step: number;
  /** StepStatement of the segment that ends here. */
  readonly statement: Uint8Array;
  readonly checkpoint: Uint8Array;
}

/** A run that is done, or one that cannot go on. */
export type Trained = Finished | Stopped;

export interface Finished {
  readonly borders: readonly Uint8Array[];
  /** The result as it is delivered. */
  readonly result: Uint8Array;
}

/** The segment behind the last border has no witness: nobody can prove it, so the run may be said to have left its range. */
export interface Stopped {
  readonly borders: readonly Uint8Array[];
  readonly stopped: { readonly step: number; readonly tensor: string; readonly detail: string };
}

/**
 * Whether a run goes on its proof system says alone, whose guards are those of its relation.
 *
 * @throws Rejection CHECKPOINT_*, DATASET_ROOT, WEIGHTS_*
 */
export async function train(
  backend: Backend,
  job: ComputedJob,
  sealed: Uint8Array | null,
  onBorder: (border: Border) => void,
): Promise<Trained> {
  const { manifest, commitments, secret, sealing, spec, system, examples } = job;
  const start = await startOf(job, sealed);
  const borders = [...start.borders];
  const key = await checkpointKey(sealing);
  checkData(job, start.step);
  const mark = backend.mark();
  const trainer = system.trainer(backend, examples, start.weights);
  let { weights } = start;
  for (let stepFrom = start.step; stepFrom < manifest.steps;) {
    const step = Math.min(stepFrom + spec.segmentSteps, manifest.steps);
    const segment = attempt(() => trainer.segment(borders.length - 1));
    if (segment instanceof GuardViolation) {
      backend.release(mark);
      return { borders, stopped: placeOf(explained(segment, manifest, segment.growth)) };
    }
    weights = segment;
    borders.push(commitments.border(borders.length, weights));
    const statement = encodeStepStatement({
      ...{ jobId: secret.jobId, programDigest: manifestDigest(manifest), datasetRoot: spec.dataset.root },
      ...{ stepFrom, stepCount: step - stepFrom, weightsBefore: borders.at(-2)!, weightsAfter: borders.at(-1)! },
    });
    const state: Checkpoint = { version: 2, step, borders, weights: encodeWeights(weights), ...unsigned };
    const checkpoint = await sealCheckpoint(key, secret.jobId, state);
    onBorder({ index: borders.length - 1, step, statement, checkpoint });
    stepFrom = step;
  }
  const plaintext = concatBytes(encodeWeights(weights), commitments.seed(borders.length - 1));
  backend.release(mark);
  return { borders, result: await resultFor(job, plaintext, borders.at(-1)!) };
}

/** A fresh key of the prover ‖ nonce ‖ ciphertext: opens with the recipient's secret. No seal binds it, so no key is held back. */
async function resultFor({ spec, secret }: ComputedJob, plaintext: Uint8Array, last: Uint8Array): Promise<Uint8Array> {
  const own = x25519.keygen();
  const parties = { secret: own.secretKey, peer: spec.recipient, revealKey: new Uint8Array(32) };
  return concatBytes(own.publicKey, await sealResult(plaintext, { ...parties, jobId: secret.jobId, last }));
}

/** No session stands behind its borders: proofs do, and no enclave goes on from there. */
const unsigned = { links: [], sessions: [] };

function attempt<T>(work: () => T): T | GuardViolation {
  try {
    return work();
  } catch (error) {
    if (error instanceof GuardViolation) return error;
    throw error;
  }
}

function placeOf({ step, tensor, detail }: GuardViolation): Stopped['stopped'] {
  return { step, tensor, detail: `expected ${detail.expected}, got a value beyond it; ${detail.action}` };
}

interface Position {
  readonly step: number;
  readonly borders: readonly Uint8Array[];
  readonly weights: Weights;
}

/** @throws Rejection CHECKPOINT_AUTHENTICATION, CHECKPOINT_STATE, WEIGHTS_*, CBOR_*, MESSAGE_SHAPE */
export async function startOf(job: ComputedJob, sealed: Uint8Array | null) {
  const { manifest, spec, commitments, secret, sealing, start, startBorder: first } = job;
  if (sealed === null) return { step: 0, borders: [first], weights: start } satisfies Position;
  const { step, borders, weights: encoded } = await openCheckpoint(await checkpointKey(sealing), secret.jobId, sealed);
  const weights = decodeWeights(manifest, encoded);
  const agrees =
    borders.length > 0 &&
    step === Math.min((borders.length - 1) * spec.segmentSteps, manifest.steps) &&
    equalBytes(borders[0]!, first) &&
    equalBytes(borders.at(-1)!, commitments.border(borders.length - 1, weights));
  if (agrees) return { step, borders, weights } satisfies Position;
  throw new Rejection('CHECKPOINT_STATE', {
    expected: 'borders from the start weights to the weights of the checkpoint, one per segment',
    got: `${borders.length} borders at step ${step}`,
    rule: 'enclave/SPEC.md, checkpoints',
    action: 'go on from another checkpoint, or from the start',
  });
}

/** What the steps to come read is what the data set's root commits to. */
function checkData({ manifest, examples, system }: ComputedJob, from: number): void {
  const checked = new Set<number>();
  for (let step = from; step < manifest.steps; step += manifest.superblock) {
    const { part, records } = system.committed(examples, step);
    if (checked.has(part)) continue;
    checked.add(part);
    if (system.isCommitted(part, records)) continue;
    throw new Rejection('DATASET_ROOT', {
      expected: `part ${part} of the data set as its root commits to it`,
      got: 'other records',
      rule: 'libs/step/SPEC.md §9',
      action: 'the data set was sealed wrongly: its owner must seal it again',
    });
  }
}
