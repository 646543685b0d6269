/** Verifies a bundle from its bytes alone and explains every check. It asks no network: what the chain says is not here. */
import type { AttestationResult } from '../appraisal/appraise.js';
import { checkPolicy, neutralPolicy, readFormerPolicy, type AppraisalPolicy } from '../appraisal/policy.js';
import { toHex } from '../base/bytes.js';
import { ConfigurationError } from '../base/errors.js';
import { openChecks, tierOf, type Check, type CheckBook, type Tier } from '../check/checks.js';
import { documentDigest } from '../check/document.js';
import type { LogExport, TrustPolicy } from '../log/index.js';
import { jobIdOf } from '../records/job-spec.js';
import { specDigestOf } from '../records/spec-digest.js';
import { mismatch, same, type BundleContext, type JudgedBundle, type Judgement } from './bundle-context.js';
import { checkEvaluations, deliveredWeights, type ShownEvaluations } from './bundle-evaluations.js';
import {
  checkProofs,
  checkSample,
  checkSetup,
  shownByProofs,
  type ProofVerifier,
  type StartOf,
} from './bundle-proofs.js';
import { bundleRules, type BundleCode } from './bundle-rules.js';
import {
  checkChain,
  checkDelivery,
  checkReceipts,
  checkRounds,
  checkRun,
  checkSeal,
  undelivered,
} from './bundle-run.js';
import { appraiseSessions, checkSessions, outcomeOf } from './bundle-sessions.js';
import { checkTransactions, type SeenTransaction } from './bundle-words.js';
import {
  gathered,
  materialPiecesMax,
  readMaterial,
  shownMaterial,
  type ReadMaterial,
  type ShownMaterial,
} from './material.js';
import { ticker, type Progress } from './progress.js';
import { readBundle } from './read-bundle.js';
import type { ShownLog } from './shown-log.js';

export interface BundleRequest {
  readonly bundle: Uint8Array;
  /** The reader's own policy; absent: the one in the bundle that the job was submitted under. */
  readonly policy?: AppraisalPolicy;
  /** Unix seconds; absent: each session as of the time at which its evidence was fresh. */
  readonly at?: number;
  /** Verifies step proofs (libs/proof); absent: nothing is known of a job whose assurance demands them. */
  readonly proofs?: ProofVerifier;
  /** Computes anew where the job starts; asked where the proofs do not show that it starts from its manifest's weights. */
  readonly startOf?: StartOf;
  /** Segments that the escrow drew, as the reader saw on the chain; absent: that the right ones are proved is not known. */
  readonly drawn?: readonly number[];
  /** Transactions of the escrow, as the reader saw on the chain; absent: those in the bundle are not checked. */
  readonly transactions?: readonly SeenTransaction[];
  /**
   * Logs and witnesses that the reader trusts; with them it demands that the job is logged. Absent: what a log shows is
   * told, and leaves the tier as it is unless it is false.
   */
  readonly logPolicy?: TrustPolicy;
  /** What was revoked in a newer log, as the reader read it there; absent: whether anything was is not known. */
  readonly logExport?: LogExport;
  /**
   * Files beside the bundle, recognised by content: certificates, CRLs, OCSP, manifests, collateral, advisories, a policy, a
   * trust policy of logs.
   */
  readonly material?: readonly Uint8Array[];
  /** Awaited between segments and sessions. What it throws ends the judgement. */
  readonly progress?: Progress;
}

interface VouchedSegment {
  readonly stepFrom: number;
  readonly stepCount: number;
  /** A receipt of an attested enclave; a step proof. */
  readonly isSigned: boolean;
  readonly isProved: boolean;
}

export interface BundleVerdict {
  /** The weakest of all checks; `affirming` or `warning` when the bundle shows what it claims. */
  readonly tier: Tier;
  /** Some evidence comes from simulated hardware: it shows nothing about real machines. */
  readonly simulated: boolean;
  readonly jobId: string;
  readonly escrowId: string;
  readonly datasetRoot: string;
  /** weightsDigest of the result. */
  readonly result: string;
  readonly steps: number;
  /** By whom each segment is vouched for, in order. */
  readonly segments: readonly VouchedSegment[];
  /** What was measured on the validation set; null where nothing was, or nothing is shown. */
  readonly evaluations: ShownEvaluations | null;
  /** What was logged of the job; null where nothing was, or nothing of it is shown. */
  readonly log: ShownLog | null;
  readonly checks: readonly Check[];
  /** Parts of the file that could say something else under the same verdict. */
  readonly notChecked: readonly string[];
  /** What became of each piece of material, in the order in which it was given. */
  readonly material: readonly ShownMaterial[];
  readonly sessions: readonly AttestationResult[];
  readonly bundle: JudgedBundle;
}

/**
 * @throws Rejection where the file cannot be read as a bundle at all, BUNDLE_MATERIAL for too many pieces beside it; an
 *   unfavourable verdict is a result
 */
export async function verifyBundle(request: BundleRequest): Promise<BundleVerdict> {
  const context = readBundle(request.bundle);
  const { bundle } = context;
  const book = openChecks<BundleCode>(bundleRules);
  const jobId = jobIdOf(context.spec);
  book.settle('BUNDLE_SPEC', 'met', toHex(jobId));
  await book.attempt('BUNDLE_TERMS', () => checkTerms(context));
  const submitted = readFormerPolicy(bundle.policy);
  const fault = faultOf(submitted);
  const material = readAll(request.material ?? []);
  const own = request.policy ?? material.findLast(({ read }) => read?.policy !== undefined)?.read?.policy;
  checkPolicyOf(book, context, submitted, own === undefined, fault);
  const named = material.findLast(({ read }) => read?.trust !== undefined)?.read?.trust;
  const trust = request.logPolicy ?? named;
  const policy = own ?? (fault === undefined ? submitted : neutralPolicy);
  const tick = ticker(workOf(context), request.progress);
  const extra = gathered(material.map(({ read }) => read));
  const judgement: Judgement = { policy, at: request.at, extra, tick };
  const results = await appraiseSessions(context, (session) => context.materialsOf(session, extra), judgement);
  checkSessions(book, context, results);
  await context.checkWords(book, submitted, results);
  await book.attempt('BUNDLE_RECEIPTS', () => checkReceipts(context, tick));
  await book.attempt('BUNDLE_ROUNDS', () => checkRounds(context));
  const proved = await book.derive(
    'BUNDLE_PROOFS',
    () => checkProofs(context, request.proofs, request.startOf, tick),
    shownByProofs,
  );
  checkSetup(book, proved?.setups ?? []);
  checkSample(book, context, request.drawn);
  await book.attempt('BUNDLE_CHAIN', () => checkChain(context, jobId));
  await book.attempt('BUNDLE_RUN', () => checkRun(context));
  const evaluations = await checkEvaluations(book, context, jobId);
  await book.attempt('BUNDLE_SEAL', () => checkSeal(context));
  await book.attempt('BUNDLE_DELIVERY', () => checkDelivery(context));
  await checkSettlement(book, context, request.transactions);
  const log = await context.checkLog(book, { trust, logExport: request.logExport, results });
  const isAside = (check: Check): boolean =>
    isLeftOpen(check) || isNotAsked(check) || (trust === undefined && isRemarkOfLog(check));
  const ofBundle = book.checks().map((check): Check => ({ ...check, subject: 'bundle' }));
  const checks = [...ofBundle, ...results.flatMap((result) => result.checks)];
  const open = checks.some(isLeftOpen) ? ['settlement.transactions'] : [];
  const unsigned = (log?.unchecked ?? []).map((place) => `log.entries[${place}].proof`);
  return {
    tier: tierOf(checks.filter((check) => !isAside(check))),
    simulated: context.sessions.some(({ cpu }) => cpu.kind === 'simulated-snp'),
    jobId: toHex(jobId),
    escrowId: toHex(context.escrowId),
    datasetRoot: toHex(context.spec.dataset.root),
    result: toHex(deliveredWeights(context)),
    steps: context.statements.reduce((sum, { stepCount }) => sum + stepCount, 0),
    segments: vouchedBy(context),
    evaluations,
    log,
    checks,
    notChecked: [
      ...context.unbound,
      ...undelivered(context),
      ...open,
      ...unsigned,
      ...(await context.unused(judgement, results)),
    ],
    material: await statesOf(context, judgement, results, material, [own, trust]),
    sessions: results,
    bundle,
  };
}

interface GivenMaterial {
  readonly bytes: Uint8Array;
  readonly read: ReadMaterial | undefined;
}

function readAll(pieces: readonly Uint8Array[]): GivenMaterial[] {
  if (pieces.length > materialPiecesMax) {
    throw mismatch('BUNDLE_MATERIAL', `at most ${materialPiecesMax} pieces of material`, `${pieces.length}`);
  }
  return pieces.map((bytes) => ({ bytes, read: readMaterial(bytes) }));
}

/** Each piece is left out alone: it counts where some check then comes out otherwise. */
async function statesOf(
  context: BundleContext,
  judgement: Judgement,
  results: readonly AttestationResult[],
  material: readonly GivenMaterial[],
  chosen: readonly unknown[],
): Promise<ShownMaterial[]> {
  const expected = outcomeOf(results);
  const states: ShownMaterial[] = [];
  for (const { bytes, read } of material) {
    const rest = gathered(material.flatMap((one) => (one.bytes === bytes ? [] : [one.read])));
    const choice = read?.policy ?? read?.trust;
    const isEndorsement = read !== undefined && choice === undefined;
    const counts = isEndorsement
      ? outcomeOf(await appraiseSessions(context, (one) => context.materialsOf(one, rest), judgement)) !== expected
      : choice !== undefined && chosen.includes(choice);
    states.push(shownMaterial(bytes, read, counts));
  }
  return states;
}

/** Sessions once, segments by receipt and by proof. */
function workOf({ sessions, segments }: BundleContext): number {
  const looks = segments.map(({ signed, proof }) => (signed === null ? 0 : 1) + (proof === null ? 0 : 1));
  return looks.reduce((sum, one) => sum + one, sessions.length);
}

function vouchedBy({ segments, statements }: BundleContext): VouchedSegment[] {
  return statements.map(({ stepFrom, stepCount }, index) => {
    const { signed, proof } = segments[index]!;
    return { stepFrom, stepCount, isSigned: signed !== null, isProved: proof !== null };
  });
}

function checkTerms({ spec, terms }: BundleContext): string {
  same('BUNDLE_TERMS', toHex(specDigestOf(spec)), toHex(terms.specDigest));
  return same('BUNDLE_TERMS', toHex(spec.policyDigest), toHex(terms.policy));
}

/** Why nobody may appraise under a policy: jobs were submitted under such before that was a rule. */
function faultOf(policy: AppraisalPolicy): string | undefined {
  try {
    checkPolicy(policy);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigurationError) return `${error.code}: ${error.detail.expected}`;
    throw error;
  }
}

/** A policy that nobody but the bundle's maker chose shows no more than that the maker keeps to it. */
function checkPolicyOf(
  book: CheckBook<BundleCode>,
  { spec }: BundleContext,
  submitted: AppraisalPolicy,
  isJudgedBy: boolean,
  fault: string | undefined,
): void {
  const [expected, got] = [toHex(spec.policyDigest), documentDigest(submitted)];
  if (expected !== got) book.settle('BUNDLE_POLICY', 'forged', got, expected);
  else if (!isJudgedBy) book.settle('BUNDLE_POLICY', 'met', got, expected);
  else if (fault !== undefined) book.settle('BUNDLE_POLICY', 'refused', `${submitted.id}, ${fault}`, 'one that counts');
  else book.settle('BUNDLE_POLICY', 'warned', `${submitted.id}, the bundle's own`, "the reader's own policy");
}

async function checkSettlement(
  book: CheckBook<BundleCode>,
  context: BundleContext,
  seen: readonly SeenTransaction[] | undefined,
): Promise<void> {
  if (context.bundle.settlement.transactions.length === 0) book.drop('BUNDLE_TRANSACTIONS');
  else if (seen !== undefined) await book.attempt('BUNDLE_TRANSACTIONS', () => checkTransactions(context, seen));
}

/** What the chain alone can show stays open without touching the verdict, and is named beside it. */
function isLeftOpen({ code, status }: Check): boolean {
  return code === 'BUNDLE_TRANSACTIONS' && status === 'not-checked';
}

/** What only a newer log can show. */
function isNotAsked({ code, status }: Check): boolean {
  return code === 'LOG_REVOKED' && status === 'warned';
}

/** Who trusts no log learns from one and judges by the rest. */
function isRemarkOfLog({ code, status }: Check): boolean {
  return code.startsWith('LOG_') && status === 'warned';
}
