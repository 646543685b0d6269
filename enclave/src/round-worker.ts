/**
 * A data-parallel job in one session: segments as the host asks for them, and averages of whole rounds. The host says what is
 * done when; what comes out does not depend on it (libs/step/SPEC.md §20).
 */
import { equalBytes, Rejection } from '#attestation/base';
import {
  checkPartials,
  encodeRoundStatement,
  encodeStepStatement,
  partialOf,
  partialsDigest,
  signReceipt,
  signRoundReceipt,
  type RoundStatement,
} from '#attestation/records';
import { checkpointKey } from '#libs/sealing';
import {
  averageWeights,
  divideSteps,
  encodeWeights,
  GuardViolation,
  manifestDigest,
  type Division,
  type Weights,
} from '#libs/step';
import type { EnclaveEvent, EventOf, RequestOf } from '#libs/wire/channel';
import { linked, segmentStatement } from './chain.js';
import { loadEngine, type LoadedEngine } from './engine/load-engine.js';
import { openEvaluator, type Evaluator } from './evaluate.js';
import { isOver } from './evaluated.js';
import { finishJob, stopAtGuard } from './finish.js';
import type { SessionKeys } from './keys.js';
import { openPartial, sealPartial, type Partial } from './partial.js';
import { progressGate } from './progress.js';
import type { SendPiece } from './pieces.js';
import type { ReadyJob } from './ready-job.js';
import type { Stopwatch } from './stopwatch.js';
import { sealPosition, startOf, trainSteps, type Position } from './trainer.js';

export interface RoundWorker {
  /** @returns the partial, or that the segment left its range @throws Rejection CHECKPOINT_*, ROUND_SEGMENT */
  segment(request: RequestOf<'segment'>, signal: AbortSignal): Promise<EnclaveEvent>;
  /** @throws Rejection PARTIAL_*, ROUND_PARTIALS and those of receipts and weights */
  take(ciphertext: Uint8Array): Promise<void>;
  /**
   * @returns the round's checkpoint, and at the job's end the result; of a job that its rule has ended the result alone
   * @throws Rejection ROUND_PARTIALS
   */
  average(request: RequestOf<'average'>): Promise<EnclaveEvent[]>;
  close(): Promise<void>;
}

interface Callbacks {
  readonly keys: SessionKeys;
  readonly watch: Stopwatch;
  progress(event: Omit<EventOf<'progress'>, 'type'>): void;
  /** Of a result. */
  readonly piece: SendPiece;
}

interface Threaded {
  readonly threads: number;
  readonly engine: LoadedEngine;
}

export function openRoundWorker(job: ReadyJob, callbacks: Callbacks): RoundWorker {
  const division = divideSteps(job.manifest, job.spec);
  const sealingKey = checkpointKey(job);
  const gate = progressGate(job);
  let partials: Partial[] = [];
  let loaded: Threaded | null = null;
  let evaluator: Evaluator | null | undefined;
  /** What this session made last: it need not open its own. */
  let own: { readonly sealed: Uint8Array; readonly partial: Partial } | null = null;
  /** The start that was used last, not opened and committed to again while it is used. */
  let known: { readonly sealed: Uint8Array | null; readonly position: Position } | null = null;

  async function positionOf(sealed: Uint8Array | null): Promise<Position> {
    job.lease.check();
    if (known !== null && isSame(known.sealed, sealed)) return known.position;
    known = { sealed, position: await startOf(job, await sealingKey, sealed) };
    return known.position;
  }

  async function engineFor(threads: number): Promise<Threaded> {
    if (loaded?.threads === threads) return loaded;
    await loaded?.engine.close();
    return (loaded = { threads, engine: await loadEngine(job, threads) });
  }

  const finish = (position: Position): Promise<EventOf<'result'>> =>
    finishJob(job, position, callbacks.keys, callbacks.watch, callbacks.piece);

  return {
    async segment({ index, checkpoint, threads }, signal) {
      const start = await positionOf(checkpoint);
      requireSegment(division, start, index);
      requireGoingOn(start);
      const { engine } = await engineFor(threads);
      const steps = {
        weights: start.weights,
        stepFrom: index * division.segmentSteps,
        stepCount: division.segmentSteps,
      };
      try {
        const weights = await trainSteps(job, engine, steps, { ...callbacks, signal, gate });
        const { event, partial } = await signedPartial(job, callbacks, start, index, weights);
        own = { sealed: event.ciphertext, partial };
        return event;
      } catch (error) {
        if (error instanceof GuardViolation) return stopAtGuard(job, error, start, callbacks.keys);
        throw error;
      }
    },

    async take(ciphertext) {
      job.lease.check();
      if (partials.length >= division.workers) throw roundPartials(`at most ${division.workers} partials`, 'one more');
      const isOwn = own !== null && equalBytes(own.sealed, ciphertext);
      partials.push(isOwn ? own!.partial : await openPartial(job, ciphertext));
    },

    async average({ checkpoint }) {
      const round = partials.toSorted((a, b) => a.statement.stepFrom - b.statement.stepFrom);
      partials = [];
      const start = await positionOf(checkpoint);
      if (isOver(start.chain)) return [await finish(start)];
      const { statement, position: unsigned } = await averaged(job, start, round, callbacks);
      evaluator ??= await openEvaluator(job, loaded?.threads ?? 1);
      const measured = await evaluatedRound(unsigned, evaluator, callbacks);
      const { event, position } = await signedRound(job, callbacks, statement, measured, await sealingKey);
      known = { sealed: event.ciphertext, position };
      const hasEnded = position.step >= job.manifest.steps || isOver(position.chain);
      return hasEnded ? [event, await finish(position)] : [event];
    },

    async close() {
      await loaded?.engine.close();
      await evaluator?.close();
      loaded = null;
      evaluator = null;
    },
  };
}

async function averaged(
  job: ReadyJob,
  start: Position,
  partials: readonly Partial[],
  { watch }: Callbacks,
): Promise<{ readonly statement: RoundStatement; readonly position: Position }> {
  const { roundSteps } = divideSteps(job.manifest, job.spec);
  if (start.step >= job.manifest.steps) throw roundPartials('a round of the job', 'one behind its last');
  const named = partialsDigest(partials.map(({ receipt }) => receipt));
  const expected = segmentStatement(job, [...start.borders, start.borders.at(-1)!], start.borders.length - 1);
  checkPartials(job.spec, { ...expected, partials: named }, partials);
  const models = partials.map(({ weights }) => weights);
  const weights = await watch.measure('train', () => averageWeights(job.manifest, models));
  const border = await watch.measure('commit', () => job.commitments.border(start.borders.length, weights));
  const position = { ...start, step: start.step + roundSteps, weights, borders: [...start.borders, border] };
  return { statement: { ...expected, weightsAfter: border, partials: named }, position };
}

/** The end of a round with its evaluation, where one is due. */
async function evaluatedRound(
  position: Position,
  evaluator: Evaluator | null,
  { keys, watch }: Callbacks,
): Promise<Position> {
  const { step, weights, borders } = position;
  if (evaluator?.isDue(step) !== true) return position;
  const measured = { step, weights, digest: borders.at(-1)! };
  return { ...position, ...(await watch.measure('train', () => evaluator.evaluate(position, measured, keys))) };
}

async function signedPartial(
  job: ReadyJob,
  { keys, watch }: Callbacks,
  start: Position,
  index: number,
  weights: Weights,
): Promise<{ readonly event: EventOf<'partial'>; readonly partial: Partial }> {
  const { segmentSteps } = job.spec;
  const weightsAfter = await watch.measure('commit', () => job.commitments.border(start.borders.length, weights));
  const round = {
    ...{ jobId: job.jobId, programDigest: manifestDigest(job.manifest), datasetRoot: job.spec.dataset.root },
    ...{ stepFrom: start.step, stepCount: segmentSteps, weightsBefore: start.borders.at(-1)!, weightsAfter },
  };
  const statement = { ...partialOf(job.spec, round, index - start.step / segmentSteps), weightsAfter };
  job.lease.check();
  return watch.measure('sign', async () => {
    const receipt = await signReceipt(statement, keys.binding.receiptKey, keys.signReceipt);
    const said = { statement: encodeStepStatement(statement), receipt };
    const sealed = { version: 2, ...said, session: job.own, weights: encodeWeights(weights) } as const;
    const step = statement.stepFrom + statement.stepCount;
    const ciphertext = await sealPartial(job, sealed);
    return { event: { type: 'partial', index, step, ...said, ciphertext }, partial: { statement, receipt, weights } };
  });
}

async function signedRound(
  job: ReadyJob,
  { keys, watch }: Callbacks,
  statement: RoundStatement,
  unsigned: Position,
  sealingKey: Uint8Array,
): Promise<{ readonly event: EventOf<'checkpoint'>; readonly position: Position }> {
  job.lease.check();
  return watch.measure('sign', async () => {
    const receipt = await signRoundReceipt(statement, keys.binding.receiptKey, keys.signReceipt);
    const chain = linked(unsigned.chain, job.own, { receipt, partials: statement.partials });
    const position = { ...unsigned, chain };
    const ciphertext = await sealPosition(job, position, sealingKey);
    const said = { statement: encodeRoundStatement(statement), receipt };
    return { event: { type: 'checkpoint', step: position.step, ...said, ciphertext }, position };
  });
}

function requireSegment({ workers, segmentSteps }: Division, { step }: Position, index: number): void {
  const first = step / segmentSteps;
  if (index >= first && index < first + workers) return;
  throw new Rejection('ROUND_SEGMENT', {
    expected: `a segment from ${first} to ${first + workers - 1}, which start at step ${step}`,
    got: `segment ${index}`,
    rule: 'enclave/SPEC.md, rounds',
    action: 'send the checkpoint of the round that the segment is of',
  });
}

/** A job that its rule has ended is trained no further: `average` seals it as it stands. */
function requireGoingOn({ step, chain }: Position): void {
  if (!isOver(chain)) return;
  throw new Rejection('ROUND_SEGMENT', {
    expected: 'a checkpoint of a job that goes on',
    got: `one at step ${step}, where the last evaluation ended the job`,
    rule: 'enclave/SPEC.md, rounds',
    action: 'ask for the average of this checkpoint, which gives the result',
  });
}

function roundPartials(expected: string, got: string): Rejection {
  return new Rejection('ROUND_PARTIALS', { expected, got, rule: 'enclave/SPEC.md, rounds' });
}

function isSame(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : equalBytes(a, b);
}
