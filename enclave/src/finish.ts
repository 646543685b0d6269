/** The end of a run: encrypt the result to the client, seal what was done for the chain (contracts/SPEC.md §3, §12). */
import { concatBytes } from '#attestation/base';
import {
  bordersRoot,
  deliveryDigest,
  domainSeparator,
  progressOf,
  runDigest,
  runKeysDigest,
  teeSelector,
  type Run,
} from '#attestation/records';
import {
  coarseGrowth,
  encodeWeights,
  explained,
  growthWords,
  weightParts,
  type GuardViolation,
  type Weights,
} from '#libs/step';
import type { EventOf } from '#libs/wire/channel';
import { keysBehind, toldEvaluations } from './chain.js';
import { sealDelivery, sendDelivery } from './deliver.js';
import type { SessionKeys } from './keys.js';
import { isLarge, stateBytes, type SendPiece } from './pieces.js';
import type { ReadyJob } from './ready-job.js';
import type { Phase, Stopwatch } from './stopwatch.js';
import type { Position, Trained } from './trainer.js';

const complete = 0;
const leftItsRange = 1;
const stoppedByRule = 3;

export async function finishJob(
  job: ReadyJob,
  trained: Position,
  keys: SessionKeys,
  watch: Stopwatch,
  send: SendPiece,
): Promise<EventOf<'result'>> {
  const result = trained.best ?? { weights: trained.weights, digest: trained.borders.at(-1)! };
  const seed = job.commitments.seed(trained.borders.length - 1);
  const delivery = await watch.measure('seal', () => deliver(job, result, { seed, keys, send }));
  const { ciphertextDigest, keyCommit } = delivery;
  const sealed = job.isRevealed ? deliveryDigest(ciphertextDigest, keyCommit) : new Uint8Array(32);
  const outcome = trained.step < job.manifest.steps ? stoppedByRule : complete;
  const { run, accounts } = runOf(job, trained, outcome, sealed, keys);
  const seal = await watch.measure('sign', () => sealRun(job, run, keys));
  return {
    type: 'result',
    ciphertext: delivery.ciphertext,
    revealKey: delivery.revealKey,
    borders: trained.borders,
    run: summaryOf(run),
    keys: accounts,
    seal,
    evaluations: toldEvaluations(trained.chain),
    timings: timingsOf(watch),
  };
}

/** A large result leaves in pieces before its event, which has the last one. */
function deliver(
  { jobId, spec, isRevealed }: ReadyJob,
  { weights, digest: last }: { readonly weights: Weights; readonly digest: Uint8Array },
  { seed, keys, send }: { readonly seed: Uint8Array; readonly keys: SessionKeys; readonly send: SendPiece },
): ReturnType<typeof sealDelivery> {
  const parties = { keys, recipient: spec.recipient, isRevealed };
  if (!isLarge(weights)) return sealDelivery(concatBytes(encodeWeights(weights), seed), parties, jobId, last);
  const length = stateBytes(weights) + seed.length;
  return sendDelivery({ parts: plaintext(), length }, parties, { jobId, last }, send);

  function* plaintext(): Iterable<Uint8Array> {
    yield* weightParts(weights);
    yield seed;
  }
}

/**
 * A segment that leaves its declared range ends the job: the chain is told so under seal, and the client is refunded.
 * There is no result that evaluations would belong to: those that may leave have been told.
 */
export function stopAtGuard(
  job: ReadyJob,
  violation: GuardViolation,
  reached: Position,
  keys: SessionKeys,
): EventOf<'stopped'> {
  const { run, accounts } = runOf(job, reached, leftItsRange, new Uint8Array(32), keys);
  return {
    type: 'stopped',
    ...whereOf(job, violation, reached),
    borders: reached.borders,
    run: summaryOf(run),
    keys: accounts,
    seal: sealRun(job, run, keys),
    evaluations: [],
  };
}

/**
 * The seal names the segment in any case; of more than that the data owner decides. Growth is a figure of single steps:
 * where those may not leave, it is told to the next power of two, and so is the advice that follows from it.
 */
function whereOf(
  { spec, manifest }: ReadyJob,
  violation: GuardViolation,
  reached: Position,
): Pick<EventOf<'stopped'>, 'step' | 'tensor' | 'expected' | 'got' | 'action'> {
  const every = progressOf(spec);
  const got = 'a value beyond it';
  if (every === 'none') {
    const expected = 'every value in its declared range';
    return { step: reached.step, tensor: 'not told', expected, got, action: 'lower the learning rate' };
  }
  const growth = every === 'step' ? violation.growth : coarseGrowth(violation.growth);
  const { step, tensor, detail } = explained(violation, manifest, growth);
  return { step, tensor, expected: detail.expected, got: `${got}${growthWords(growth)}`, action: detail.action ?? '' };
}

function runOf(
  job: ReadyJob,
  { borders, chain }: Trained,
  outcome: Run['outcome'],
  delivery: Uint8Array,
  { binding }: SessionKeys,
): { readonly run: Run; readonly accounts: readonly Uint8Array[] } {
  const accounts = keysBehind(chain, binding.settlementKey);
  const run = {
    job: job.escrowId,
    upTo: borders.length - 1,
    outcome,
    bordersRoot: bordersRoot(borders),
    last: borders.at(-1)!,
    delivery,
    keys: runKeysDigest(accounts),
  };
  return { run, accounts };
}

/** TeeSeal: selector ‖ r ‖ s ‖ v over the EIP-712 digest. @throws Rejection ATTESTATION_LAPSED */
function sealRun(job: ReadyJob, run: Run, keys: SessionKeys): Uint8Array {
  job.lease.check();
  const { chainId, contract } = job.spec.settlement;
  const digest = runDigest(domainSeparator({ chainId, verifyingContract: contract }), run);
  return concatBytes(teeSelector, keys.signSettlement(digest));
}

function summaryOf({ job: _job, ...summary }: Run): EventOf<'result'>['run'] {
  return summary;
}

function timingsOf(watch: Stopwatch): EventOf<'result'>['timings'] {
  const micros = (phase: Phase): number => watch.micros(phase);
  return {
    decryptMicros: micros('decrypt'),
    checkMicros: micros('check'),
    trainMicros: micros('train'),
    commitMicros: micros('commit'),
    signMicros: micros('sign'),
    sealMicros: micros('seal'),
  };
}
