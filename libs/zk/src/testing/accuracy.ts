/** Small sets of records for tests of accuracy statements: seeded records and weights, their commitments, verdicts. */
import { Rejection } from '#attestation/base';
import { initialWeights, stepReference, type Examples, type Manifest, type Weights } from '#libs/step';
import type { Profile } from '../commit/params.js';
import type { Backend } from '../prover/backend.js';
import { commitData, commitWeights } from '../prover/commitments.js';
import type { SegmentWitness } from '../prover/execute.js';
import { countLookups } from '../prover/multiplicities.js';
import { classRecords, proveCount, type AccuracyInput } from '../prover/prove-accuracy.js';
import { deriveAccuracyPlanUnchecked } from '../relation/accuracy-plan.js';
import type { Plan } from '../relation/plan.js';
import { Transcript } from '../transcript/transcript.js';
import { accuracyScheme, runAccuracyVerifier, type AccuracyStatement } from '../verifier/accuracy.js';
import { ProofBytes } from '../verifier/source.js';
import { seedOf, testManifest, testProfile } from './segments.js';

export interface TestCount {
  readonly plan: Plan;
  readonly input: AccuracyInput;
}

export interface CountChoice {
  readonly manifest?: Manifest;
  readonly profile?: Profile;
  readonly weights?: Weights;
  readonly examples?: Examples;
  readonly records?: number;
  readonly correct?: number;
  readonly secret?: string;
}

/** Bytes and labels from a fixed stream. */
export function testRecords({ dims }: Manifest, count: number, name = 'set'): Examples {
  const stream = (part: string, length: number): Uint8Array =>
    Uint8Array.from({ length }, (_, i) => seedOf(`${name} ${part} ${i >> 5}`)[i & 31]!);
  const labels = stream('labels', count).map((byte) => byte % dims.at(-1)!);
  return { count, features: stream('features', count * dims[0]!), labels };
}

export function testCount(backend: Backend, choice: CountChoice = {}): TestCount {
  const manifest = choice.manifest ?? testManifest({ dims: [3, 4, 3] });
  const profile = choice.profile ?? testProfile;
  const examples = choice.examples ?? testRecords(manifest, choice.records ?? 5);
  const weights = choice.weights ?? initialWeights(manifest);
  const plan = deriveAccuracyPlanUnchecked(manifest, profile, examples.count);
  const [weightSeed, dataSeed] = [seedOf('weights'), seedOf('set')];
  const statement = {
    ...{ manifest, profile: profile.name, outerDigest: seedOf('outer'), records: examples.count },
    weights: commitWeights(backend, plan, weights, weightSeed).commitment,
    data: commitData(backend, plan, examples, dataSeed).commitment,
  };
  const secret = seedOf(choice.secret ?? 'prover secret');
  return {
    plan,
    input: { statement, correct: choice.correct, weights: { weights, seed: weightSeed }, examples, dataSeed, secret },
  };
}

/** Logits of one record, by libs/step. */
export function logitsOf(manifest: Manifest, weights: Weights, { features, labels }: Examples, record: number): bigint[] {
  const n0 = manifest.dims[0]!;
  const one = {
    count: 1,
    features: features.subarray(record * n0, (record + 1) * n0),
    labels: labels.subarray(record, record + 1),
  };
  const { layers } = stepReference({ ...manifest, batch: 1, superblock: 1, steps: 1 }, weights, one, 0, 'proved');
  return [...layers.at(-1)!.Y.data];
}

/** How many records libs/step classes right, ties going to the lowest class. */
export function rightByReference(manifest: Manifest, weights: Weights, examples: Examples): number {
  let right = 0;
  for (let record = 0; record < examples.count; record++) {
    const logits = logitsOf(manifest, weights, examples, record);
    const best = logits.reduce((least, value, c) => (value > logits[least]! ? c : least), 0);
    if (best === examples.labels[record]) right += 1;
  }
  return right;
}

/** What a liar's witness says; `count` is the k that it claims. */
export type CountForgery = (segment: SegmentWitness, plan: Plan) => void;

/** Proves and verifies: 'accepted', or the code of the rejection. @param claim added to the honest count */
export function countVerdict(
  backend: Backend,
  { plan, input }: TestCount,
  forge: CountForgery = () => undefined,
  claim = 0,
): string {
  const { witness, correct } = classRecords(backend, plan, input);
  forge(witness, plan);
  for (const [name, counts] of countLookups(backend, plan.shape, witness)) witness.witness.set(name, counts);
  const { result } = proveCount(backend, plan, input, witness, correct + claim);
  return codeOfCount(plan, result.statement, result.proof);
}

export function codeOfCount(plan: Plan, statement: AccuracyStatement, proof: Uint8Array): string {
  try {
    runAccuracyVerifier(plan, statement, new Transcript(accuracyScheme), new ProofBytes(proof));
    return 'accepted';
  } catch (error) {
    if (error instanceof Rejection) return error.code;
    throw error;
  }
}
