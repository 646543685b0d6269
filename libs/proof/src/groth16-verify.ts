/** Verifies a chain of Groth16 proofs against its statement document. */
import { equalBytes, to0x } from '#attestation/base';
import { stepStatementDigest, type StepStatement } from '#attestation/records';
import { checkBounds, manifestDigest } from '#libs/step';
import {
  circuitDigest,
  circuitShape,
  groth16SecurityBits,
  groth16WeightsDigest,
  keyDigest,
  parseKey,
  signalsOf,
  verifyGroth16,
  type Ceremony,
  type CircuitShape,
  type Groth16Segment,
} from '#libs/zk/verifier';

import { parseGroth16Bundle, type Groth16Statement } from './groth16-statement.js';
import { refuse } from './refuse.js';
import { segmentOuterDigest, stepsOf } from './statement.js';

/** Whose keys are trusted: soundness rests on nobody knowing what a key was made from. */
export interface KeyPolicy {
  /** Whether keys that one machine made are good enough: for development, where the prover is not an adversary. */
  readonly takesDevelopmentKeys: boolean;
  /** The one key that is taken, by its digest. */
  readonly verificationKey?: Uint8Array | undefined;
  /** Of proofs of a job: whether the plan that its spec names is the verifier's own choice. */
  readonly isOwnPlan?: boolean;
}

declare const verified: unique symbol;

/** Made only by `verifyGroth16Bundle`. */
export interface VerifiedGroth16 {
  readonly [verified]: true;
  /** What the segments together show, if nobody kept the secrets of the key's ceremony. */
  readonly statement: StepStatement;
  readonly statementDigest: Uint8Array;
  readonly ceremony: Ceremony;
  readonly verificationKey: Uint8Array;
  readonly circuit: Uint8Array;
  /** Computational, by the best known attack on the curve. */
  readonly soundnessBits: number;
}

const rule = 'libs/proof/SPEC.md, groth16';

/**
 * @throws Rejection PROOF_BUNDLE, PROOF_SELECTOR, PROOF_SEGMENTS, PROOF_ALIGNMENT, STEP_RANGE_*, GROTH16_SHAPE,
 *   GROTH16_DEVELOPMENT, GROTH16_KEY, STEP_STATEMENT, MERKLE_PATH, STEP_NONCANONICAL, STEP_FINAL_CHECK
 */
export function verifyGroth16Bundle(
  bundle: Uint8Array,
  statement: Groth16Statement,
  policy: KeyPolicy,
): VerifiedGroth16 {
  const { key: keyOfBundle, proofs } = parseGroth16Bundle(bundle);
  const { manifest, firstStep, segments, ceremony } = statement;
  if (proofs.length !== segments.length) refuse('PROOF_SEGMENTS', `${segments.length} proofs`, proofs.length, rule);
  if (firstStep % manifest.superblock !== 0) {
    refuse('PROOF_ALIGNMENT', `a multiple of ${manifest.superblock}`, firstStep, 'libs/zk/SPEC.md §2.2');
  }
  checkBounds(manifest);
  const shape = circuitShape(manifest);
  const circuit = circuitDigest(shape);
  const verificationKey = keyDigest(circuit, ceremony, keyOfBundle);
  for (const expected of [statement.verificationKey, policy.verificationKey ?? verificationKey]) {
    if (!equalBytes(expected, verificationKey)) refuse('GROTH16_KEY', to0x(expected), to0x(verificationKey), rule);
  }
  if (ceremony === 'development' && !policy.takesDevelopmentKeys) {
    refuse('GROTH16_DEVELOPMENT', 'a key of an external ceremony', 'a development key: its maker can forge', rule);
  }
  const key = parseKey(keyOfBundle);
  proofs.forEach((proof, i) => verifyGroth16(key, signalsOf(shape, segmentOf(statement, shape, i)), proof));
  const whole = wholeOf(statement, shape);
  return {
    ...{ statement: whole, statementDigest: stepStatementDigest(whole), ceremony, verificationKey, circuit },
    soundnessBits: groth16SecurityBits,
  } as VerifiedGroth16;
}

function segmentOf(statement: Groth16Statement, shape: CircuitShape, i: number): Groth16Segment {
  const { manifest, recordCount, datasetRoot, borders, segments, firstStep } = statement;
  const [before, after] = [borders[i]!, borders[i + 1]!];
  const [from, to] = [before, after].map((root) => groth16WeightsDigest(shape, root));
  return {
    ...{ recordCount, datasetRoot, before, after },
    outerDigest: segmentOuterDigest(statement, stepsOf(statement, i), from!, to!),
    index: firstStep / manifest.superblock + i,
    data: segments[i]!.data,
    dataPath: segments[i]!.path,
  };
}

function wholeOf(statement: Groth16Statement, shape: CircuitShape): StepStatement {
  const { jobId, manifest, datasetRoot, borders, firstStep: stepFrom, segments } = statement;
  const last = stepsOf(statement, segments.length - 1);
  return {
    ...{ jobId, programDigest: manifestDigest(manifest), datasetRoot, stepFrom },
    stepCount: last.from + last.count - stepFrom,
    weightsBefore: groth16WeightsDigest(shape, borders[0]!),
    weightsAfter: groth16WeightsDigest(shape, borders.at(-1)!),
  };
}
