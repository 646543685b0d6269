/**
 * A bundle of a job that was measured on a validation set: spec, escrow, evidence, release and signatures by every
 * party's real code; what the session signs, weights and figures, is the test's.
 */
import { keccak, utf8 } from '#attestation/base';
import {
  bordersRoot,
  deliveryDigest,
  domainSeparator,
  encodeEvaluation,
  encodeJobSpec,
  encodeRoundStatement,
  encodeStepStatement,
  encodeTerms,
  escrowIdOf,
  evaluatedSteps,
  evaluationPlanOf,
  JobMode,
  parseEndorsements,
  partialOf,
  partialsDigest,
  programDigest,
  runDigest,
  runKeysDigest,
  signEvaluation,
  signReceipt,
  signRoundReceipt,
  standingsOf,
  teeSelector,
  workersOf,
  type EvaluationStatement,
  type EvidenceBundle,
  type StepStatement,
  type StopRule,
} from '#attestation/records';
import type { SessionKeys } from '../../enclave/src/keys.js';
import { lawfulSession } from './lawful-session.js';
import { shownSession } from './tiny-bundle.js';
import { chainId, contract, policyBytes, tinyJob, type TinyJob } from './tiny-job.js';

const segmentSteps = 4;
const steps = 20;
export const validationRecords = 1000;
const validationRoot = keccak(utf8('validation set'));

interface EvaluatedOptions {
  readonly every: number;
  readonly stop?: StopRule;
  /** Of `validationRecords` rows, evaluation by evaluation; the loss follows. */
  readonly accuracies: readonly number[];
  readonly salt?: number;
  /** What a session that is not honest signs instead. */
  readonly change?: (statement: EvaluationStatement, index: number) => EvaluationStatement;
  /** What it seals instead. */
  readonly run?: Partial<EvidenceBundle['run']>;
  /** Canonical JSON of one of as many steps and batches, where it is to be read; else no reader makes a net of it. */
  readonly manifest?: Uint8Array;
  /** weightsDigest of where it starts, as the escrow has it. */
  readonly initialWeights?: Uint8Array;
  /** Segments trained, where not as many as the rule has. */
  readonly trained?: number;
  /** Its segments are rounds of two workers, each over half of the steps. */
  readonly isParallel?: boolean;
  /** Steps behind which a second session signs segments, and evaluations. */
  readonly second?: { readonly segments: number; readonly evaluations: number };
}

export interface EvaluatedBundle {
  readonly job: TinyJob;
  readonly bundle: EvidenceBundle;
}

const weightsAt = (step: number): Uint8Array => keccak(utf8(`weights after ${step} steps`));

export async function evaluatedBundle(options: EvaluatedOptions): Promise<EvaluatedBundle> {
  const job = await measuredJob(options);
  const first = await lawfulSession(job);
  const { keys } = first;
  const second = options.second && (await lawfulSession(job));
  const members = [first, ...(second ? [second] : [])];
  const course = courseOf(job, options);
  const borders = Array.from({ length: course.trained + 1 }, (_, at) =>
    at === 0 ? job.terms.initialWeights : weightsAt(at * segmentSteps),
  );
  const delivery = { ciphertextDigest: new Uint8Array(32).fill(1), keyCommit: new Uint8Array(32).fill(2) };
  const segmentSigner = (step: number): Signer => signerOf(members, step, options.second?.segments);
  const segments = await signedSegments(job, segmentSigner, borders);
  const behind = segments.map(({ signed }) => members[signed!.session]!.keys.binding.settlementKey);
  const run: EvidenceBundle['run'] = {
    keys: runKeysDigest([...behind, keys.binding.settlementKey]),
    ...{ upTo: course.trained, outcome: course.outcome, bordersRoot: bordersRoot(borders), last: borders.at(-1)! },
    delivery: deliveryDigest(delivery.ciphertextDigest, delivery.keyCommit),
    ...options.run,
  };
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const digest = runDigest(domain, { job: escrowIdOf(job.terms), ...run });
  const bundle: EvidenceBundle = {
    version: 4,
    spec: encodeJobSpec(job.spec),
    terms: encodeTerms(job.terms),
    policy: policyBytes(job),
    sessions: members.map(({ evidence, released }) => shownSession(evidence, released)),
    endorsements: parseEndorsements(first.released.result.endorsements),
    segments,
    evaluations: await signedEvaluations(course.statements, (step) =>
      signerOf(members, step, options.second?.evaluations),
    ),
    ...{ run, delivery },
    seal: { session: 0, bytes: new Uint8Array([...teeSelector, ...keys.signSettlement(digest)]) },
    settlement: { transactions: [] },
  };
  return { job, bundle };
}

interface Signer {
  readonly session: number;
  readonly keys: SessionKeys;
}

/** @param behind steps behind which the second of them signs */
function signerOf(members: readonly Pick<Signer, 'keys'>[], step: number, behind = Infinity): Signer {
  const session = step > behind ? 1 : 0;
  return { session, keys: members[session]!.keys };
}

function measuredJob(options: EvaluatedOptions): Promise<TinyJob> {
  const { every, stop, salt = 1, initialWeights, manifest: given, isParallel = false } = options;
  const evaluate = { batch: 4, every, metrics: ['accuracy', 'loss'] };
  const own = JSON.stringify({ batch: 4, evaluate, fxt: 2, labelShape: [], steps, stop: stop ?? null });
  const manifest = given ?? utf8(own);
  const validation = { root: validationRoot, records: validationRecords };
  return tinyJob({
    segmentSteps: isParallel ? segmentSteps / 2 : segmentSteps,
    spec: { manifest, validation, salt: new Uint8Array(32).fill(salt), ...(isParallel && { parallel: 2 }) },
    terms: {
      ...{ segments: steps / segmentSteps, mode: JobMode.tee | JobMode.reveal | (stop ? JobMode.early : 0) },
      ...(initialWeights && { initialWeights }),
    },
  });
}

interface Course {
  readonly outcome: 0 | 3;
  /** Segments. */
  readonly trained: number;
  readonly statements: readonly EvaluationStatement[];
}

/** What happens where the rule is kept to; `options` say what is signed otherwise. */
function courseOf({ spec, jobId }: TinyJob, options: EvaluatedOptions): Course {
  const { stop, accuracies, change = (statement: EvaluationStatement) => statement } = options;
  const declared = evaluatedSteps(evaluationPlanOf(spec)!);
  const numerators = accuracies.map(BigInt);
  const standings = stop === undefined ? [] : standingsOf(stop, numerators);
  const early = standings.findIndex(({ isOver }, index) => isOver && index < declared.length - 1);
  const measured = early < 0 ? declared : declared.slice(0, early + 1);
  const best = standings[measured.length - 1]?.best;
  const reason = early < 0 ? ('completed' as const) : ('stopped' as const);
  const denominator = BigInt(validationRecords);
  const statements = measured.map((step, index): EvaluationStatement => {
    const numerator = numerators[index]!;
    const isEnd = best !== undefined && index === measured.length - 1;
    const honest: EvaluationStatement = {
      ...{ version: 1, jobId, programDigest: programDigest(spec.manifest) },
      ...{ validationRoot, step, weights: weightsAt(step) },
      metrics: [
        { metric: 'accuracy', numerator, denominator },
        { metric: 'loss', numerator: 65_536n * (1000n - numerator), denominator },
      ],
      end: isEnd ? { reason, step: measured[best]!, weights: weightsAt(measured[best]!) } : null,
    };
    return change(honest, index);
  });
  const trained = options.trained ?? (early < 0 ? steps : measured.at(-1)!) / segmentSteps;
  return { outcome: early < 0 ? 0 : 3, trained, statements };
}

function signedSegments(
  { spec, jobId }: TinyJob,
  signerAt: (step: number) => Signer,
  borders: readonly Uint8Array[],
): Promise<EvidenceBundle['segments']> {
  const common = { jobId, programDigest: programDigest(spec.manifest), datasetRoot: spec.dataset.root };
  return Promise.all(
    borders.slice(1).map(async (weightsAfter, at) => {
      const place = { stepFrom: at * segmentSteps, stepCount: segmentSteps, weightsBefore: borders[at]! };
      const signer = signerAt(place.stepFrom + segmentSteps);
      return signedSegment(spec, { ...common, ...place, weightsAfter }, signer);
    }),
  );
}

async function signedSegment(
  spec: TinyJob['spec'],
  statement: StepStatement,
  { session, keys }: Signer,
): Promise<EvidenceBundle['segments'][number]> {
  const { receiptKey } = keys.binding;
  const signed = async (one: StepStatement) => ({
    ...{ session, statement: encodeStepStatement(one) },
    receipt: await signReceipt(one, receiptKey, keys.signReceipt),
  });
  if (workersOf(spec) === 1) {
    const own = await signed(statement);
    return { statement: own.statement, signed: { session, receipt: own.receipt }, proof: null, partials: [] };
  }
  const { weightsAfter } = statement;
  const partials = await Promise.all([0, 1].map((at) => signed({ ...partialOf(spec, statement, at), weightsAfter })));
  const round = { ...statement, partials: partialsDigest(partials.map(({ receipt }) => receipt)) };
  const receipt = await signRoundReceipt(round, receiptKey, keys.signReceipt);
  return { statement: encodeRoundStatement(round), signed: { session, receipt }, proof: null, partials };
}

function signedEvaluations(statements: readonly EvaluationStatement[], signerAt: (step: number) => Signer) {
  return Promise.all(
    statements.map(async (statement) => {
      const { session, keys } = signerAt(statement.step);
      const receipt = await signEvaluation(statement, keys.binding.receiptKey, keys.signReceipt);
      return { session, statement: encodeEvaluation(statement), receipt };
    }),
  );
}
