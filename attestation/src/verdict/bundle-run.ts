/** The run of a bundle: receipts, rounds, the chain of statements, the seal, and the delivery that it is over. */
import { recoverAddress } from '../base/address.js';
import { equalBytes, isZero, toHex } from '../base/bytes.js';
import { bordersRoot } from '../records/borders.js';
import type { EvidenceBundle } from '../records/bundle.js';
import { deliveryDigest, runKeysDigest, teeSelector } from '../records/eip712.js';
import { needsTee } from '../records/job-spec.js';
import { mayBeProvedInstead } from '../records/lapse.js';
import { stepsOf } from '../records/manifest-text.js';
import { programDigest } from '../records/program.js';
import { verifyReceipt } from '../records/receipt.js';
import { checkPartials, verifyRoundReceipt, workersOf, type RoundStatement } from '../records/round.js';
import { parseStepStatement } from '../records/step-statement.js';
import { JobMode } from '../records/terms.js';
import { mismatch, same, sessionAt, type BundleContext, type BundleParts } from './bundle-context.js';
import type { Tick } from './progress.js';

/** A segment that an enclave did not sign for must be one of a job whose steps are proved: then its proof counts. */
export async function checkReceipts(
  { segments, spec, terms, sessions, statements }: BundleParts,
  tick: Tick,
): Promise<string> {
  let receipts = 0;
  const isEither = mayBeProvedInstead(spec, terms);
  for (const [index, { signed, proof }] of segments.entries()) {
    if (signed === null && (spec.assurance !== 'tee' || (isEither && proof !== null))) continue;
    if (signed === null) throw mismatch('BUNDLE_RECEIPTS', `a receipt over segment ${index}`, 'none');
    const { receiptKey } = sessionAt(sessions, signed.session).binding;
    const statement = statements[index]!;
    if ('partials' in statement) await verifyRoundReceipt(signed.receipt, statement, receiptKey);
    else await verifyReceipt(signed.receipt, statement, receiptKey);
    receipts++;
    await tick();
  }
  for (const partial of segments.flatMap(({ partials }) => partials)) {
    const { receiptKey } = sessionAt(sessions, partial.session).binding;
    await verifyReceipt(partial.receipt, parseStepStatement(partial.statement), receiptKey);
    receipts++;
  }
  return `${receipts} receipts`;
}

/** Whether bundle and spec agree on what the job is, and every round on who worked on it. */
export function checkRounds({ areRounds, segments, spec, terms, statements }: BundleParts): string {
  const workers = workersOf(spec);
  if (areRounds !== workers > 1) {
    throw mismatch('BUNDLE_ROUNDS', `segments of ${workers} workers`, areRounds ? 'rounds' : 'segments of one');
  }
  if (workers === 1) {
    const stray = segments.findIndex(({ partials }) => partials.length > 0);
    if (stray >= 0) throw mismatch('BUNDLE_ROUNDS', 'segments of one worker', `partials in segment ${stray}`);
    return '1 worker';
  }
  if (isZero(terms.provider)) throw mismatch('BUNDLE_ROUNDS', 'an escrow that names its provider', 'one of any');
  for (const [index, { partials }] of segments.entries()) {
    const parsed = partials.map(({ statement, receipt }) => ({ statement: parseStepStatement(statement), receipt }));
    checkPartials(spec, statements[index] as RoundStatement, parsed);
  }
  return `${statements.length} rounds of ${workers} workers`;
}

/** One run of whole segments from the agreed start, and to the last step of the manifest unless its rule stopped it. */
export function checkChain({ bundle, spec, terms, statements }: BundleContext, jobId: Uint8Array): string {
  const program = programDigest(spec.manifest);
  const steps = spec.segmentSteps * workersOf(spec);
  const isStopped = bundle.run.outcome === stoppedByRule;
  const count = isStopped ? bundle.run.upTo : terms.segments;
  same('BUNDLE_CHAIN', `${count} segments`, `${statements.length} segments`);
  statements.forEach((statement, index) => {
    const before = index === 0 ? terms.initialWeights : statements[index - 1]!.weightsAfter;
    const last = index === terms.segments - 1;
    same('BUNDLE_CHAIN', `job ${toHex(jobId)}`, `job ${toHex(statement.jobId)}`);
    same('BUNDLE_CHAIN', `program ${toHex(program)}`, `program ${toHex(statement.programDigest)}`);
    same('BUNDLE_CHAIN', `data ${toHex(spec.dataset.root)}`, `data ${toHex(statement.datasetRoot)}`);
    same(
      'BUNDLE_CHAIN',
      `segment ${index} from ${toHex(before)}`,
      `segment ${index} from ${toHex(statement.weightsBefore)}`,
    );
    same('BUNDLE_CHAIN', `step ${index * steps}`, `step ${statement.stepFrom}`);
    const whole = statement.stepCount === steps;
    const rest = last && workersOf(spec) === 1 && statement.stepCount >= 1 && statement.stepCount < steps;
    if (!whole && !rest) throw mismatch('BUNDLE_CHAIN', `${steps} steps in segment ${index}`, `${statement.stepCount}`);
  });
  const done = statements.reduce((sum, { stepCount }) => sum + stepCount, 0);
  if (!isStopped) same('BUNDLE_CHAIN', `${stepsOf(spec.manifest)} steps in all`, `${done} steps in all`);
  return `${statements.length} segments of ${steps} steps`;
}

/** Outcome of a run that the manifest's rule stopped: contracts/SPEC.md §3. */
const stoppedByRule = 3;

export function checkRun({ bundle, plan, terms, statements }: BundleParts): string {
  const { run } = bundle;
  const borders = [terms.initialWeights, ...statements.map(({ weightsAfter }) => weightsAfter)];
  const mayStop = plan !== null && plan.stop !== null && (terms.mode & JobMode.early) !== 0;
  if (mayStop && run.outcome === stoppedByRule) {
    const isPart = run.upTo >= 1 && run.upTo < terms.segments;
    same(
      'BUNDLE_RUN',
      `1 to ${terms.segments - 1} segments`,
      isPart ? `1 to ${terms.segments - 1} segments` : `${run.upTo}`,
    );
    same('BUNDLE_RUN', `${statements.length} segments`, `${run.upTo} segments`);
  } else {
    same('BUNDLE_RUN', 'outcome 0 (complete)', run.outcome === 0 ? 'outcome 0 (complete)' : `outcome ${run.outcome}`);
    same('BUNDLE_RUN', `${terms.segments} segments`, `${run.upTo} segments`);
  }
  same('BUNDLE_RUN', toHex(bordersRoot(borders)), toHex(run.bordersRoot));
  return same('BUNDLE_RUN', toHex(borders.at(-1)!), toHex(run.last));
}

export function checkSeal(context: BundleContext): string {
  const { bundle, segments, spec, terms, sessions } = context;
  const isProved =
    !needsTee(spec.assurance) || (mayBeProvedInstead(spec, terms) && segments.every(({ proof }) => proof));
  const digest = context.sealedDigest();
  if (bundle.seal === null && isProved) return 'none: the job is proved';
  if (bundle.seal === null) throw mismatch('BUNDLE_SEAL', 'a TeeSeal', 'none');
  const { session, bytes } = bundle.seal;
  same('BUNDLE_SEAL', toHex(teeSelector), toHex(bytes.subarray(0, 4)));
  const signer = recoverAddress(digest, bytes.subarray(4));
  return same('BUNDLE_SEAL', toHex(sessionAt(sessions, session).binding.settlementKey), toHex(signer));
}

/** The keys that the seal names are those of the sessions behind the borders and of the one that sealed. */
export function checkRunKeys({ segments, sessions }: BundleParts, { seal, run }: EvidenceBundle): void {
  const none = new Uint8Array(32);
  if (seal === null && equalBytes(run.keys, none)) return;
  const signers = segments.flatMap(({ signed }) => (signed === null ? [] : [signed.session]));
  const behind = [...signers, ...(seal === null ? [] : [seal.session])];
  const keys = behind.map((index) => sessionAt(sessions, index).binding.settlementKey);
  same('BUNDLE_SEAL', `keys ${toHex(seal === null ? none : runKeysDigest(keys))}`, `keys ${toHex(run.keys)}`);
}

export function checkDelivery({ bundle, terms }: BundleParts): string {
  const { ciphertextDigest, keyCommit } = bundle.delivery;
  if ((terms.mode & JobMode.reveal) === 0) {
    same('BUNDLE_DELIVERY', toHex(new Uint8Array(32)), toHex(bundle.run.delivery));
    return 'none through the escrow';
  }
  return same('BUNDLE_DELIVERY', toHex(deliveryDigest(ciphertextDigest, keyCommit)), toHex(bundle.run.delivery));
}

/** Where the escrow delivers nothing, no seal is over what the bundle says of a delivery. */
export function undelivered({ terms }: BundleParts): string[] {
  return (terms.mode & JobMode.reveal) === 0 ? ['delivery'] : [];
}
