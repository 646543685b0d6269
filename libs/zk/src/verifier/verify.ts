/** The verifier of a step proof (libs/zk/SPEC.md §11). It reads nothing but its arguments. */
import { equalBytes } from '#attestation/base';
import { oodValue, type Commitment } from '../commit/commitment.js';
import { extBytes } from '../commit/field/bytes.js';
import type { Ext } from '../commit/field/extension.js';
import type { DataTree } from '../commit/layout/blocks.js';
import { oodWord } from '../commit/layout/ood.js';
import { refuse } from '../commit/layout/refuse.js';
import { profileNamed } from '../commit/params.js';
import { derivePlan, type Plan } from '../relation/plan.js';
import { Transcript } from '../transcript/transcript.js';
import { reduceToOneClaim, type KnownTree } from './flow/flow.js';
import type { TreeRoots } from './leaves.js';
import { MaskedProtocol } from './masked-protocol.js';
import { checkOpening } from './opening.js';
import { ProofBytes, type ProofSource } from './source.js';
import { contextOf, type Context, type StepProofStatement } from './statement.js';

declare const verified: unique symbol;

/** Made only by `verifyStepProof`: the statement holds, except with the stated probability. */
export interface VerifiedStepProof {
  readonly [verified]: true;
  readonly outerDigest: Uint8Array;
  readonly firstStep: number;
  readonly stepCount: number;
  /** Which superblock of the data set every segment read. */
  readonly superblocks: readonly number[];
  /** weightsDigest before and after the segment. */
  readonly weightsBefore: Uint8Array;
  readonly weightsAfter: Uint8Array;
  /** −log2 of the error of the weakest round and of the whole proof. */
  readonly soundnessBits: number;
  readonly soundnessSumBits: number;
}

/**
 * Checks that the segment's weights after follow from its weights before by exact training on the registered data.
 *
 * @param proof     bytes of libs/zk/SPEC.md §10
 * @param statement what the proof is claimed to show; assumptions A1 and A2 of libs/zk/SPEC.md §2.2 are the caller's
 * @throws Rejection STEP_PLAN, STEP_EXTENSION, STEP_STATEMENT, MERKLE_PATH, STEP_PROOF_LENGTH, STEP_NONCANONICAL, STEP_POW,
 *   STEP_MERKLE_W0, STEP_MERKLE_J, STEP_MERKLE_WT, STEP_MERKLE_S, STEP_MERKLE_D, STEP_MERKLE_L1, STEP_FINAL_CHECK
 */
export function verifyStepProof(proof: Uint8Array, statement: StepProofStatement): VerifiedStepProof {
  return verifyFrom(new ProofBytes(proof), statement);
}

/** `verifyStepProof` over any reader of the proof's bytes. */
export function verifyFrom(source: ProofBytes, statement: StepProofStatement): VerifiedStepProof {
  const profile = profileNamed(statement.profile);
  const plan = derivePlan(statement.manifest, profile, statement.variant);
  const context = runVerifier(plan, statement, new Transcript(), source);
  return {
    outerDigest: statement.outerDigest,
    firstStep: statement.index * plan.shape.steps,
    stepCount: plan.shape.steps,
    superblocks: context.superblocks,
    weightsBefore: context.weightsBefore,
    weightsAfter: context.weightsAfter,
    soundnessBits: plan.soundness.minBits,
    soundnessSumBits: plan.soundness.sumBits,
  } as VerifiedStepProof;
}

/** The protocol after its first absorption. */
interface OpenedProtocol {
  readonly context: Context;
  readonly protocol: MaskedProtocol;
  readonly known: readonly KnownTree[];
  readonly roots: TreeRoots;
}

/**
 * The protocol itself over any source of messages.
 * @throws Rejection as `verifyStepProof`
 */
export function runVerifier(
  plan: Plan,
  statement: StepProofStatement,
  transcript: Transcript,
  source: ProofSource,
): Context {
  const { context, protocol, known, roots } = openProtocol(plan, statement, transcript, source);
  const combined = reduceToOneClaim(protocol, known, context.stepSizes);
  checkOpening(plan, transcript, source, combined, roots);
  return context;
}

/** Binds statement and commitments into the transcript (libs/zk/SPEC.md §5). */
export function openProtocol(
  plan: Plan,
  statement: StepProofStatement,
  transcript: Transcript,
  source: ProofSource,
): OpenedProtocol {
  const context = contextOf(statement, plan);
  const witnessRoot = plan.variant === 'separate' ? source.root('S') : undefined;
  const { before, after, data } = statement;
  const known: KnownTree[] = [
    { tree: 'W0', root: before.root, ood: oodValuesOf(plan, source, 'W0', before) },
    { tree: 'WT', root: after.root, ood: oodValuesOf(plan, source, 'WT', after) },
    { tree: 'D', root: data.root, ood: oodValuesOf(plan, source, 'D', data) },
  ];
  absorbTrees(transcript, context.digest, known);
  if (witnessRoot !== undefined) transcript.absorb(witnessRoot);
  transcript.absorb(Uint8Array.from(context.stepSizes));
  const protocol = new MaskedProtocol(plan, transcript, source, context.superblocks);
  const roots = { W0: before.root, WT: after.root, D: data.root, ...(witnessRoot ? { S: witnessRoot } : {}) };
  return { context, protocol, known, roots };
}

export function absorbTrees(transcript: Transcript, context: Uint8Array, known: readonly KnownTree[]): void {
  transcript.absorb(context);
  for (const { root, ood } of known) {
    transcript.absorb(root);
    for (const value of ood) transcript.absorb(extBytes(value));
  }
}

/** @throws Rejection STEP_STATEMENT when the proof's values are not those of the statement's word */
export function oodValuesOf(plan: Plan, source: ProofSource, tree: DataTree, commitment: Commitment): readonly Ext[] {
  const { oodPoints } = plan.profile;
  if (oodPoints === 1) return [oodValue(commitment)];
  const values = source.oodValues(tree, oodPoints);
  if (equalBytes(oodWord(values), commitment.ood)) return values;
  return refuse(
    'STEP_STATEMENT',
    `out-of-domain values of ${tree} with the stated hash`,
    'others',
    'libs/zk/SPEC.md §2.1',
  );
}
