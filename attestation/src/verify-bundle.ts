/** Verifies a bundle from its bytes alone and explains every check. It asks no network: what the chain says is not here. */
import { sha256 } from '@noble/hashes/sha2.js';
import { appraise, type AttestationResult } from './appraisal/appraise.js';
import { openChecks, tierOf, type Check, type CheckBook, type Tier } from './appraisal/checks.js';
import { documentDigest } from './appraisal/document.js';
import { endorsementsOfSession, evidenceOfSession, noEndorsements } from './appraisal/evidence.js';
import { decodePolicy, type AppraisalPolicy } from './appraisal/policy.js';
import {
  checkProofs,
  checkSample,
  checkSetup,
  shownByProofs,
  type ProofContext,
  type ProofVerifier,
} from './bundle-proofs.js';
import { bundleRules, type BundleCode } from './bundle-rules.js';
import {
  parseBundle,
  segmentsOfBundle,
  type BundledPartial,
  type BundledSegment,
  type EvidenceBundle,
} from './bundle.js';
import { equalBytes, isZero, toHex } from './bytes.js';
import { Rejection } from './errors.js';
import { parseSessionEvidence, type SessionEvidence } from './evidence.js';
import { verifyReceipt } from './receipt.js';
import { checkPartials, parseRoundStatement, verifyRoundReceipt, workersOf, type RoundStatement } from './round.js';
import { recoverAddress } from './statement/address.js';
import { bordersRoot } from './statement/borders.js';
import {
  appraisalDigest,
  deliveryDigest,
  domainSeparator,
  registryDomainSeparator,
  runDigest,
  teeSelector,
} from './statement/eip712.js';
import { jobIdOf, needsTee, parseJobSpec } from './statement/job-spec.js';
import { mayBeProvedInstead } from './lapse.js';
import { specDigestOf } from './statement/spec-digest.js';
import { programDigest } from './statement/program.js';
import { parseStepStatement, type StepStatement } from './statement/step-statement.js';
import { decodeTerms, jobDigest, JobMode } from './statement/terms.js';

export interface BundleRequest {
  readonly bundle: Uint8Array;
  /** The reader's own policy; absent: the one in the bundle that the job was submitted under. */
  readonly policy?: AppraisalPolicy;
  /** Unix seconds; absent: each session as of the time at which its evidence was fresh. */
  readonly at?: number;
  /** Verifies step proofs (libs/proof); absent: nothing is known of a job whose assurance demands them. */
  readonly proofs?: ProofVerifier;
  /** Segments that the escrow drew, as the reader saw on the chain; absent: that the right ones are proved is not known. */
  readonly drawn?: readonly number[];
}

export interface VouchedSegment {
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
  readonly checks: readonly Check[];
  readonly sessions: readonly AttestationResult[];
  readonly bundle: EvidenceBundle;
}

/** How far the clocks of a broker and of whoever made the bundle may be apart. */
const clockSkewSeconds = 300;

interface Context extends ProofContext {
  readonly bundle: EvidenceBundle;
  readonly sessions: readonly SessionEvidence[];
}

/** @throws Rejection where the file cannot be read as a bundle at all; an unfavourable verdict is a result */
export async function verifyBundle(request: BundleRequest): Promise<BundleVerdict> {
  const bundle = parseBundle(request.bundle);
  const segments = segmentsOfBundle(bundle);
  const context: Context = {
    bundle,
    segments,
    spec: parseJobSpec(bundle.spec),
    terms: decodeTerms(bundle.terms),
    sessions: bundle.sessions.map(({ evidence }) => parseSessionEvidence(evidence)),
    statements: statementsOf(bundle, segments),
  };
  const book = openChecks<BundleCode>(bundleRules);
  const jobId = jobIdOf(context.spec);
  book.settle('BUNDLE_SPEC', 'met', toHex(jobId));
  await book.attempt('BUNDLE_TERMS', () => checkTerms(context));
  const submitted = decodePolicy(bundle.policy);
  checkPolicyOf(book, context, submitted, request.policy !== undefined);
  const results = await appraiseSessions(context, request.policy ?? submitted, request.at);
  checkSessions(book, context, results);
  await book.attempt('BUNDLE_APPRAISALS', () => checkAppraisals(context, submitted));
  await book.attempt('BUNDLE_RECEIPTS', () => checkReceipts(context));
  await book.attempt('BUNDLE_ROUNDS', () => checkRounds(context));
  const proved = await book.derive('BUNDLE_PROOFS', () => checkProofs(context, request.proofs), shownByProofs);
  checkSetup(book, proved?.setups ?? []);
  checkSample(book, context, request.drawn);
  await book.attempt('BUNDLE_CHAIN', () => checkChain(context, jobId));
  await book.attempt('BUNDLE_RUN', () => checkRun(context));
  await book.attempt('BUNDLE_SEAL', () => checkSeal(context));
  await book.attempt('BUNDLE_DELIVERY', () => checkDelivery(context));
  const checks = [...book.checks(), ...results.flatMap((result) => result.checks)];
  return {
    tier: tierOf(checks),
    simulated: context.sessions.some(({ cpu }) => cpu.kind === 'simulated-snp'),
    jobId: toHex(jobId),
    escrowId: toHex(jobDigest(context.terms)),
    datasetRoot: toHex(context.spec.dataset.root),
    result: toHex(bundle.run.last),
    steps: context.statements.reduce((sum, { stepCount }) => sum + stepCount, 0),
    segments: vouchedBy(context),
    checks,
    sessions: results,
    bundle,
  };
}

function vouchedBy({ segments, statements }: Context): VouchedSegment[] {
  return statements.map(({ stepFrom, stepCount }, index) => {
    const { signed, proof } = segments[index]!;
    return { stepFrom, stepCount, isSigned: signed !== null, isProved: proof !== null };
  });
}

function checkTerms({ spec, terms }: Context): string {
  same('BUNDLE_TERMS', toHex(specDigestOf(spec)), toHex(terms.specDigest));
  return same('BUNDLE_TERMS', toHex(spec.policyDigest), toHex(terms.policy));
}

/** A policy that nobody but the bundle's maker chose shows no more than that the maker keeps to it. */
function checkPolicyOf(
  book: CheckBook<BundleCode>,
  { spec }: Context,
  submitted: AppraisalPolicy,
  readersOwn: boolean,
): void {
  const [expected, got] = [toHex(spec.policyDigest), documentDigest(submitted)];
  if (expected !== got) book.settle('BUNDLE_POLICY', 'forged', got, expected);
  else if (readersOwn) book.settle('BUNDLE_POLICY', 'met', got, expected);
  else book.settle('BUNDLE_POLICY', 'warned', `${submitted.id}, the bundle's own`, "the reader's own policy");
}

function appraiseSessions(
  { bundle, sessions }: Context,
  policy: AppraisalPolicy,
  at: number | undefined,
): Promise<AttestationResult[]> {
  const { crls, rims } = bundle.endorsements;
  return Promise.all(
    sessions.map((session, index) =>
      appraise({
        evidence: evidenceOfSession(session),
        endorsements: endorsementsOfSession(session, { ...noEndorsements, crls, rims }),
        policy,
        nonce: session.nonce,
        at: at ?? bundle.sessions[index]!.appraisedAt,
      }),
    ),
  );
}

function checkSessions(
  book: CheckBook<BundleCode>,
  { bundle, sessions, spec, terms }: Context,
  results: readonly AttestationResult[],
): void {
  const tiers = results.map(({ tier }) => tier);
  const refused = tiers.findIndex((tier) => tier === 'contraindicated');
  const unknown = tiers.findIndex((tier) => tier === 'none');
  const stray = sessions.findIndex(
    ({ binding }) =>
      binding.chainId !== spec.settlement.chainId ||
      !(isZero(terms.provider) || equalBytes(binding.provider, terms.provider)),
  );
  const evidence = bundle.sessions.map((session) => toHex(session.evidence));
  const again = evidence.findIndex((one, index) => evidence.indexOf(one) < index);
  if (sessions.length === 0 && !needsTee(spec.assurance))
    book.settle('BUNDLE_SESSIONS', 'met', 'none: the job is proved');
  else if (sessions.length === 0) book.settle('BUNDLE_SESSIONS', 'missing', 'no session');
  else if (refused >= 0) book.settle('BUNDLE_SESSIONS', 'refused', `session ${refused} is contraindicated`);
  else if (stray >= 0)
    book.settle('BUNDLE_SESSIONS', 'refused', `session ${stray} is bound to another chain or provider`);
  else if (again >= 0) book.settle('BUNDLE_SESSIONS', 'refused', `session ${again} stands there twice`);
  else if (unknown >= 0) book.settle('BUNDLE_SESSIONS', 'missing', `nothing is known of session ${unknown}`);
  else book.settle('BUNDLE_SESSIONS', 'met', `${sessions.length} sessions: ${tiers.join(', ')}`);
}

/** Freshness cannot be seen from a file: it rests on the broker's word, which is bound to these bytes. */
function checkAppraisals({ bundle, sessions, spec, terms }: Context, { resultSecondsMax }: AppraisalPolicy): string {
  const broker = toHex(isZero(terms.keyBroker) ? terms.client : terms.keyBroker);
  sessions.forEach(({ binding }, index) => {
    const { evidence, appraisal, appraisedAt } = bundle.sessions[index]!;
    const from = appraisal.notAfter - resultSecondsMax - clockSkewSeconds;
    if (appraisedAt < from || appraisedAt > appraisal.notAfter) {
      throw mismatch('BUNDLE_APPRAISALS', `a time from ${from} to ${appraisal.notAfter}`, `${appraisedAt}`);
    }
    const { chainId, registry, settlementKey, provider } = binding;
    const digest = appraisalDigest(registryDomainSeparator({ chainId, verifyingContract: registry }), {
      key: settlementKey,
      policy: spec.policyDigest,
      provider,
      evidence: sha256(evidence),
      notAfter: appraisal.notAfter,
    });
    same('BUNDLE_APPRAISALS', broker, toHex(recoverAddress(digest, appraisal.signature)));
  });
  return `${sessions.length} by ${broker}`;
}

/** A segment that an enclave did not sign for must be one of a job whose steps are proved: then its proof counts. */
async function checkReceipts({ bundle, segments, spec, terms, sessions, statements }: Context): Promise<string> {
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
  }
  for (const partial of partialsOf(bundle)) {
    const { receiptKey } = sessionAt(sessions, partial.session).binding;
    await verifyReceipt(partial.receipt, parseStepStatement(partial.statement), receiptKey);
    receipts++;
  }
  return `${receipts} receipts`;
}

/** Whether bundle and spec agree on what the job is, and every round on who worked on it. */
function checkRounds({ bundle, spec, terms, statements }: Context): string {
  const workers = workersOf(spec);
  if (bundle.version !== 3) return same('BUNDLE_ROUNDS', '1 worker', `${workers} worker${workers === 1 ? '' : 's'}`);
  if (workers === 1) throw mismatch('BUNDLE_ROUNDS', 'segments of one worker', 'rounds of several');
  if (isZero(terms.provider)) throw mismatch('BUNDLE_ROUNDS', 'an escrow that names its provider', 'one of any');
  for (const [index, { partials }] of bundle.segments.entries()) {
    const parsed = partials.map(({ statement, receipt }) => ({ statement: parseStepStatement(statement), receipt }));
    checkPartials(spec, statements[index] as RoundStatement, parsed);
  }
  return `${statements.length} rounds of ${workers} workers`;
}

function partialsOf(bundle: EvidenceBundle): readonly BundledPartial[] {
  return bundle.version === 3 ? bundle.segments.flatMap(({ partials }) => partials) : [];
}

function statementsOf(
  { version }: EvidenceBundle,
  segments: readonly BundledSegment[],
): readonly (StepStatement | RoundStatement)[] {
  return segments.map(({ statement }) => (version === 3 ? parseRoundStatement : parseStepStatement)(statement));
}

function checkChain({ spec, terms, statements }: Context, jobId: Uint8Array): string {
  const program = programDigest(spec.manifest);
  const steps = spec.segmentSteps * workersOf(spec);
  same('BUNDLE_CHAIN', `${terms.segments} segments`, `${statements.length} segments`);
  statements.forEach((statement, index) => {
    const before = index === 0 ? terms.initialWeights : statements[index - 1]!.weightsAfter;
    const last = index === statements.length - 1;
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
  return `${statements.length} segments of ${steps} steps`;
}

function checkRun({ bundle, terms, statements }: Context): string {
  const { run } = bundle;
  const borders = [terms.initialWeights, ...statements.map(({ weightsAfter }) => weightsAfter)];
  same('BUNDLE_RUN', 'outcome 0 (complete)', run.outcome === 0 ? 'outcome 0 (complete)' : `outcome ${run.outcome}`);
  same('BUNDLE_RUN', `${terms.segments} segments`, `${run.upTo} segments`);
  same('BUNDLE_RUN', toHex(bordersRoot(borders)), toHex(run.bordersRoot));
  return same('BUNDLE_RUN', toHex(borders.at(-1)!), toHex(run.last));
}

function checkSeal({ bundle, segments, spec, terms, sessions }: Context): string {
  const isProved =
    !needsTee(spec.assurance) || (mayBeProvedInstead(spec, terms) && segments.every(({ proof }) => proof));
  if (bundle.seal === null && isProved) return 'none: the job is proved';
  if (bundle.seal === null) throw mismatch('BUNDLE_SEAL', 'a TeeSeal', 'none');
  const { session, bytes } = bundle.seal;
  same('BUNDLE_SEAL', toHex(teeSelector), toHex(bytes.subarray(0, 4)));
  const { chainId, contract } = spec.settlement;
  const run = { job: jobDigest(terms), ...bundle.run };
  const digest = runDigest(domainSeparator({ chainId, verifyingContract: contract }), run);
  const signer = recoverAddress(digest, bytes.subarray(4));
  return same('BUNDLE_SEAL', toHex(sessionAt(sessions, session).binding.settlementKey), toHex(signer));
}

function checkDelivery({ bundle, terms }: Context): string {
  const { ciphertextDigest, keyCommit } = bundle.delivery;
  if ((terms.mode & JobMode.reveal) === 0) {
    same('BUNDLE_DELIVERY', toHex(new Uint8Array(32)), toHex(bundle.run.delivery));
    return 'none through the escrow';
  }
  return same('BUNDLE_DELIVERY', toHex(deliveryDigest(ciphertextDigest, keyCommit)), toHex(bundle.run.delivery));
}

function sessionAt(sessions: readonly SessionEvidence[], index: number): SessionEvidence {
  const session = sessions[index];
  if (session === undefined) throw mismatch('BUNDLE_SESSION_INDEX', `a session below ${sessions.length}`, `${index}`);
  return session;
}

function same(code: string, expected: string, got: string): string {
  if (expected !== got) throw mismatch(code, expected, got);
  return got;
}

function mismatch(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'attestation SPEC, bundle' });
}
