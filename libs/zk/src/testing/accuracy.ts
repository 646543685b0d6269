/** Small sets of records for tests of accuracy statements: seeded records and weights, their commitments, verdicts. */
import { initialWeights, stepReference, type Examples, type Manifest, type Weights } from '#libs/step';
import * as F from '../commit/field/extension.js';
import type { Profile } from '../commit/params.js';
import type { Backend } from '../prover/backend.js';
import { commitData, commitWeights } from '../prover/commitments.js';
import type { SegmentWitness } from '../prover/execute.js';
import { countLookups } from '../prover/multiplicities.js';
import { classRecords, proveCount, type AccuracyInput, type AccuracyProof } from '../prover/prove-accuracy.js';
import { deriveAccuracyPlanUnchecked } from '../relation/accuracy-plan.js';
import type { Plan } from '../relation/plan.js';
import { Transcript } from '../transcript/transcript.js';
import { accuracyScheme, runAccuracyVerifier, type AccuracyStatement } from '../verifier/accuracy.js';
import { ProofBytes } from '../verifier/source.js';
import { codeOf, flowOf, tellLies, type Lies } from './lies.js';
import { seedOf, testManifest, testProfile } from './segments.js';
import { partsRead, type ProofPart } from './structure.js';

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
  readonly correctMax?: number;
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
    input: {
      statement,
      correctMax: choice.correctMax,
      weights: { weights, seed: weightSeed },
      examples,
      dataSeed,
      secret,
    },
  };
}

/** A net whose logits are those of its last biases, whatever the record. */
export function constantLogits(manifest: Manifest, biases: readonly bigint[]): Weights {
  const weights = initialWeights(manifest);
  return weights.map((tensor, k) => {
    if (k < weights.length - 2) return tensor;
    const values = k === weights.length - 1 ? BigInt64Array.from(biases) : new BigInt64Array(tensor.values.length);
    return { ...tensor, values };
  });
}

/** The same bytes with these labels. */
export function withLabels(examples: Examples, labels: readonly number[]): Examples {
  return { ...examples, labels: Uint8Array.from(labels) };
}

/** Logits of one record, by libs/step. */
export function logitsOf(
  manifest: Manifest,
  weights: Weights,
  { features, labels }: Examples,
  record: number,
): bigint[] {
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

/** Changes a witness before its lookups are counted. */
export type CountForgery = (segment: SegmentWitness, plan: Plan) => void;

/** What a liar does. */
export interface Deceit {
  readonly forge?: CountForgery;
  /** Added to the honest k. */
  readonly claim?: number;
  readonly lies?: Lies;
}

/** Proves and verifies: 'accepted', or the code of the rejection. */
export function countVerdict(backend: Backend, count: TestCount, deceit: Deceit = {}): string {
  const told = tellLies(deceit.lies ?? new Map());
  const { proof, statement } = proveLie(backend, count, deceit);
  told.undo();
  return codeOfCount(count.plan, statement, proof);
}

/** The flow of a lying prover, opening aside. */
export function countFlow(
  backend: Backend,
  count: TestCount,
  deceit: Deceit & { readonly places?: readonly number[] },
) {
  return flowOf(backend, deceit, () => void proveLie(backend, count, deceit));
}

/** Places of the constraints that do not hold for a liar. */
export function brokenPlaces(backend: Backend, count: TestCount, deceit: Deceit): number[] {
  const places = [...Array(count.plan.messages.constraints).keys()];
  const { values } = countFlow(backend, count, { ...deceit, places });
  return places.filter((place) => !F.equal(values.get(place)!, F.ZERO));
}

function proveLie(backend: Backend, { plan, input }: TestCount, { forge, claim = 0 }: Deceit): AccuracyProof {
  const { witness, correct } = classRecords(backend, plan, input);
  forge?.(witness, plan);
  for (const [name, counts] of countLookups(backend, plan.shape, witness)) witness.witness.set(name, counts);
  return proveCount(backend, plan, input, witness, correct + claim).result;
}

/** The parts of an accepted proof, in order. */
export function partsOfCount(plan: Plan, statement: AccuracyStatement, proof: Uint8Array): readonly ProofPart[] {
  return partsRead(proof, (source) => runAccuracyVerifier(plan, statement, new Transcript(accuracyScheme), source));
}

export function codeOfCount(plan: Plan, statement: AccuracyStatement, proof: Uint8Array): string {
  return codeOf(() => runAccuracyVerifier(plan, statement, new Transcript(accuracyScheme), new ProofBytes(proof)));
}
