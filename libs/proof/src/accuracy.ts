/**
 * A statement about a set of records as a document, and its verification: weights class at least so many of them right
 * (libs/proof/SPEC.md §9). A set larger than one proof carries is in parts, each with its commitment and its proof.
 */
import { concatBytes, keccak, taggedDigest, to0x, utf8, word } from '#attestation/base';
import {
  canonicalJson,
  checkBounds,
  datasetRoot,
  manifestDigest,
  parseManifest,
  type CanonicalValue,
  type Examples,
  type Manifest,
} from '#libs/step';
import {
  dataDigestOf,
  deriveAccuracyPlan,
  profileNamed,
  verifyAccuracyProof,
  weightsDigestOf,
  type AccuracyStatement,
  type Commitment,
  type Plan,
  type SoundnessTerm,
} from '#libs/zk/verifier';
import { accuracySelector, encodeProofBundle, parseProofBundle } from './bundle.js';
import { commitment, count, digest, list, record } from './fields.js';
import { accuracyPartsMax } from './limits.js';
import { refuse } from './refuse.js';

interface Part {
  readonly records: number;
  readonly correct: number;
  readonly data: Commitment;
}

export interface AccuracyDocument {
  readonly backend: 'accuracy';
  /** Zero for a statement that serves no job. */
  readonly jobId: Uint8Array;
  readonly manifest: Manifest;
  readonly profile: string;
  readonly weights: Commitment;
  /** The set in the order of its records. */
  readonly parts: readonly Part[];
}

declare const verified: unique symbol;

/** Made only by `verifyAccuracyBundle`. */
export interface VerifiedAccuracyBundle {
  readonly [verified]: true;
  /** Of the document. */
  readonly statementDigest: Uint8Array;
  readonly jobId: Uint8Array;
  /** manifestDigest: by it weights are read, and so what they class. */
  readonly manifest: Uint8Array;
  /** weightsDigest of the weights; Merkle root of the dataDigests of the parts. */
  readonly weights: Uint8Array;
  readonly setRoot: Uint8Array;
  readonly records: number;
  /** So many are classed right at least. */
  readonly correct: number;
  /** −log2 of the error of the weakest round, and of all proofs together, at most. */
  readonly soundnessBits: number;
  readonly soundnessSumBits: number;
  /** Of the weakest part's proof, round by round. */
  readonly soundnessRounds: readonly SoundnessTerm[];
}

const rule = 'libs/proof/SPEC.md, accuracy';

/**
 * @param json a parsed JSON value
 * @throws Rejection PROOF_STATEMENT, and those of `parseManifest`
 */
export function parseAccuracyDocument(json: unknown): AccuracyDocument {
  const names = ['version', 'backend', 'jobId', 'manifest', 'profile', 'weights', 'parts'];
  const { version, backend, profile, ...members } = record(json, names, 'a statement');
  if (version !== 1) refuse('PROOF_STATEMENT', 'version 1', version, rule);
  if (backend !== 'accuracy') refuse('PROOF_STATEMENT', "backend 'accuracy'", backend, rule);
  if (typeof profile !== 'string') return refuse('PROOF_STATEMENT', 'a profile', profile, rule);
  const parts = list(members['parts'], 'parts', accuracyPartsMax).map((entry) => {
    const part = record(entry, ['records', 'correct', 'data'], 'a part');
    return { records: count(part['records']), correct: count(part['correct']), data: commitment(part['data']) };
  });
  if (parts.length === 0) refuse('PROOF_STATEMENT', 'at least one part', 'none', rule);
  return {
    backend: 'accuracy',
    jobId: digest(members['jobId']),
    manifest: parseManifest(members['manifest']),
    profile,
    weights: commitment(members['weights']),
    parts,
  };
}

/** RFC 8785 text of the document. */
export function accuracyText({ jobId, manifest, profile, weights, parts }: AccuracyDocument): string {
  const json = ({ root, ood }: Commitment): CanonicalValue => ({ root: to0x(root), ood: to0x(ood) });
  return canonicalJson({
    version: 1,
    backend: 'accuracy',
    jobId: to0x(jobId),
    manifest: manifest as unknown as CanonicalValue,
    profile,
    weights: json(weights),
    parts: parts.map(({ records, correct, data }) => ({ records, correct, data: json(data) })),
  });
}

export function encodeAccuracyBundle(proofs: readonly Uint8Array[]): Uint8Array {
  return encodeProofBundle(proofs, accuracySelector);
}

/** What one part's proof is bound to beside its own numbers: the job, the whole set, and its place in it. */
export function accuracyOuterDigest(jobId: Uint8Array, setRoot: Uint8Array, part: number): Uint8Array {
  return taggedDigest('veritrain/accuracy/v1', concatBytes(jobId, setRoot, word(part)));
}

/**
 * What opens the commitment to a part, from what opens the set's: 32 bytes each. Of these records under this plan alone: two
 * commitments to other records under one seed would tell what they differ in.
 */
export function accuracyPartSeed(
  dataSeed: Uint8Array,
  part: number,
  { digest }: Pick<Plan, 'digest'>,
  { features, labels }: Pick<Examples, 'features' | 'labels'>,
): Uint8Array {
  const records = concatBytes(keccak(features), keccak(labels));
  return taggedDigest('veritrain/accuracy-part-seed/v2', concatBytes(dataSeed, word(part), digest, records));
}

/** Of each part. @throws Rejection STEP_RANGE_*, STEP_PLAN, STEP_EXTENSION */
export function accuracyPlans({ manifest, profile, parts }: AccuracyDocument): readonly Plan[] {
  checkBounds(manifest);
  return parts.map(({ records }) => deriveAccuracyPlan(manifest, profileNamed(profile), records));
}

/**
 * @throws Rejection PROOF_BUNDLE, PROOF_SELECTOR, PROOF_SEGMENTS, STEP_RANGE_*, and those of `verifyAccuracyProof`
 */
export function verifyAccuracyBundle(bundle: Uint8Array, document: AccuracyDocument): VerifiedAccuracyBundle {
  const proofs = parseProofBundle(bundle, accuracySelector);
  const { jobId, manifest, profile, weights, parts } = document;
  if (proofs.length !== parts.length) refuse('PROOF_SEGMENTS', `${parts.length} proofs`, proofs.length, rule);
  const plans = accuracyPlans(document);
  const leaves = parts.map(({ data }, k) => dataDigestOf(data, plans[k]!));
  if (new Set(leaves.map(to0x)).size < leaves.length)
    refuse('PROOF_STATEMENT', 'parts of their own', 'one twice', rule);
  const setRoot = datasetRoot(leaves);
  const shown = parts.map((part, k) => {
    const outerDigest = accuracyOuterDigest(jobId, setRoot, k);
    const statement: AccuracyStatement = { manifest, profile, outerDigest, weights, ...part };
    return verifyAccuracyProof(proofs[k]!, statement);
  });
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const weakest = shown.reduce((a, b) => (b.soundnessBits < a.soundnessBits ? b : a));
  return {
    statementDigest: taggedDigest('veritrain/accuracy-statement/v1', utf8(accuracyText(document))),
    ...{ jobId, setRoot, weights: weightsDigestOf(weights, plans[0]!), manifest: manifestDigest(manifest) },
    records: sum(shown.map(({ records }) => records)),
    correct: sum(shown.map(({ correct }) => correct)),
    soundnessBits: weakest.soundnessBits,
    soundnessSumBits: -Math.log2(sum(shown.map(({ soundnessSumBits }) => 2 ** -soundnessSumBits))),
    soundnessRounds: weakest.soundnessRounds,
  } as VerifiedAccuracyBundle;
}
