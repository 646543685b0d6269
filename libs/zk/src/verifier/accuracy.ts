/**
 * The verifier of a statement about a set of records: committed weights class at least so many of them right
 * (libs/zk/SPEC.md §21). It reads nothing but its arguments.
 */
import { concatBytes, taggedDigest, word } from '#attestation/base';
import { manifestDigest, type Manifest } from '#libs/step';
import { dataDigestOf, requireDigest, weightsDigestOf, type Commitment } from '../commit/commitment.js';
import { refuse } from '../commit/layout/refuse.js';
import { profileNamed } from '../commit/params.js';
import { deriveAccuracyPlan } from '../relation/accuracy-plan.js';
import type { Plan } from '../relation/plan.js';
import { Transcript } from '../transcript/transcript.js';
import { reduceCount } from './flow/count.js';
import type { KnownTree } from './flow/flow.js';
import type { TreeRoots } from './leaves.js';
import { MaskedProtocol } from './masked-protocol.js';
import { checkOpening } from './opening.js';
import { ProofBytes, type ProofSource } from './source.js';
import { absorbTrees, oodValuesOf } from './verify.js';

export interface AccuracyStatement {
  /** Of the job that the weights are of, as `parseManifest` of libs/step gives it. */
  readonly manifest: Manifest;
  /** Name of a profile in params.ts. */
  readonly profile: string;
  /** Digest of what this proof serves, 32 bytes; the caller checks what it says. */
  readonly outerDigest: Uint8Array;
  /** n, of the committed set. */
  readonly records: number;
  /** k: at least so many are classed right, ties going to the lowest class. */
  readonly correct: number;
  readonly data: Commitment;
  readonly weights: Commitment;
}

declare const verified: unique symbol;

/** Made only by `verifyAccuracyProof`: the statement holds, except with the stated probability. */
interface VerifiedAccuracy {
  readonly [verified]: true;
  readonly outerDigest: Uint8Array;
  readonly records: number;
  readonly correct: number;
  /** weightsDigest and dataDigest of the commitments. */
  readonly weights: Uint8Array;
  readonly data: Uint8Array;
  /** −log2 of the error of the weakest round and of the whole proof. */
  readonly soundnessBits: number;
  readonly soundnessSumBits: number;
  readonly soundnessRounds: Plan['soundness']['terms'];
}

/** What the transcript of such a proof begins with. */
export const accuracyScheme = 'fxt-zk/accuracy/1';

/**
 * @param proof     bytes of libs/zk/SPEC.md §21
 * @param statement what the proof is claimed to show; assumptions A1 and A2 of libs/zk/SPEC.md §2.2 are the caller's
 * @throws Rejection STEP_PLAN, STEP_EXTENSION, STEP_STATEMENT, STEP_PROOF_LENGTH, STEP_NONCANONICAL, STEP_POW,
 *   STEP_MERKLE_W0, STEP_MERKLE_S, STEP_MERKLE_D, STEP_MERKLE_L1, STEP_FINAL_CHECK
 */
export function verifyAccuracyProof(proof: Uint8Array, statement: AccuracyStatement): VerifiedAccuracy {
  const source = new ProofBytes(proof);
  const plan = deriveAccuracyPlan(statement.manifest, profileNamed(statement.profile), statement.records);
  runAccuracyVerifier(plan, statement, new Transcript(accuracyScheme), source);
  return {
    outerDigest: statement.outerDigest,
    records: statement.records,
    correct: statement.correct,
    weights: weightsDigestOf(statement.weights, plan),
    data: dataDigestOf(statement.data, plan),
    soundnessBits: plan.soundness.minBits,
    soundnessSumBits: plan.soundness.sumBits,
    soundnessRounds: plan.soundness.terms,
  } as VerifiedAccuracy;
}

/**
 * The protocol itself over any source of messages.
 * @throws Rejection as `verifyAccuracyProof`
 */
export function runAccuracyVerifier(
  plan: Plan,
  statement: AccuracyStatement,
  transcript: Transcript,
  source: ProofSource,
): void {
  const { protocol, known, roots } = openAccuracy(plan, statement, transcript, source);
  checkOpening(plan, transcript, source, reduceCount(protocol, known, statement.correct), roots);
}

/** Binds statement and commitments into the transcript. */
export function openAccuracy(
  plan: Plan,
  statement: AccuracyStatement,
  transcript: Transcript,
  source: ProofSource,
): { readonly protocol: MaskedProtocol; readonly known: readonly KnownTree[]; readonly roots: TreeRoots } {
  const context = accuracyContext(plan, statement);
  const { weights, data } = statement;
  const S = source.root('S');
  const known: KnownTree[] = [
    { tree: 'W0', root: weights.root, ood: oodValuesOf(plan, source, 'W0', weights) },
    { tree: 'D', root: data.root, ood: oodValuesOf(plan, source, 'D', data) },
  ];
  absorbTrees(transcript, context, known);
  transcript.absorb(S);
  const protocol = new MaskedProtocol(plan, transcript, source);
  return { protocol, known, roots: { W0: weights.root, D: data.root, S } };
}

/** @throws Rejection STEP_STATEMENT when a field is malformed */
export function accuracyContext(plan: Plan, statement: AccuracyStatement): Uint8Array {
  const { manifest, outerDigest, records, correct, data, weights } = statement;
  if (records !== plan.shape.batch) {
    refuse('STEP_STATEMENT', `${plan.shape.batch} records`, records, 'libs/zk/SPEC.md §21');
  }
  if (!Number.isSafeInteger(correct) || correct < 0 || correct > records) {
    refuse('STEP_STATEMENT', `0 to ${records} records that are classed right`, correct, 'libs/zk/SPEC.md §21');
  }
  requireDigest(outerDigest);
  return taggedDigest(
    'fxt-accuracy/1',
    concatBytes(
      outerDigest,
      word(records),
      word(correct),
      manifestDigest(manifest),
      plan.digest,
      dataDigestOf(data, plan),
      weightsDigestOf(weights, plan),
    ),
  );
}
