/** Small provable segments for tests: seeded data, commitments, statements. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, taggedDigest, utf8 } from '#attestation/base';
import {
  datasetRoot,
  initialWeights,
  merklePath,
  profileManifest,
  superblockOfStep,
  type Examples,
  type Manifest,
  type ProfileParameters,
  type Weights,
} from '#libs/step';
import { paddedWeights } from '../commit/columns.js';
import { commitColumns } from '../commit/commit.js';
import { dataDigestOf, type Commitment } from '../commit/commitment.js';
import type { Profile } from '../commit/params.js';
import type { Backend } from '../prover/backend.js';
import { commitData } from '../prover/commitments.js';
import type { SegmentInput, WeightSecret } from '../prover/prove.js';
import { derivePlanUnchecked, type Plan, type Variant } from '../relation/plan.js';

/** Far below 100 bits: no door accepts it. */
export const testProfile: Profile = {
  name: 'test',
  version: 1,
  extensionDegree: 2,
  oodPoints: 1,
  m: 11,
  logBlowup: 1,
  randomRows: 1,
  k1: 4,
  logBlowup1: 2,
  multiplicity: 2,
  multiplicity1: 2,
  queries0: 8,
  queries1: 6,
  grind0: 3,
  grind1: 2,
  grindFold: 1,
  grindFold1: 1,
  hash: 'keccak',
  digestBytes: 32,
};

export const testSeed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';

export function seedOf(name: string): Uint8Array {
  return keccak_256(utf8(`test ${name}`));
}

export function testManifest(parameters: Partial<ProfileParameters> = {}): Manifest {
  return profileManifest('fx1', { dims: [3, 4, 2], batch: 2, e: 5, steps: 64, seed: testSeed, ...parameters });
}

/** Records for `superblocks` superblocks: bytes and labels from a fixed stream. */
export function testExamples(manifest: Manifest, superblock: number): Examples {
  const count = manifest.superblock * manifest.batch;
  const width = manifest.dims[0]!;
  const features = new Uint8Array(count * width);
  const labels = new Uint8Array(count);
  for (let i = 0; i < features.length; i += 32) {
    features.set(seedOf(`features ${superblock} ${i}`).subarray(0, Math.min(32, features.length - i)), i);
  }
  for (let i = 0; i < count; i++) labels[i] = seedOf(`label ${superblock} ${i}`)[0]! % manifest.dims.at(-1)!;
  return { count, features, labels };
}

function wholeSet(manifest: Manifest, superblocks: number): Examples {
  const parts = Array.from({ length: superblocks }, (_, k) => testExamples(manifest, k));
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    features: concatBytes(...parts.map(({ features }) => features)),
    labels: concatBytes(...parts.map(({ labels }) => labels)),
  };
}

export interface TestSegment {
  readonly plan: Plan;
  readonly input: SegmentInput;
}

export interface SegmentChoice {
  readonly manifest?: Manifest;
  readonly profile?: Profile;
  readonly variant?: Variant;
  readonly index?: number;
  readonly before?: WeightSecret;
  readonly weights?: Weights;
  readonly secret?: string;
  readonly job?: string;
  /** Of the data set, 3 where absent. */
  readonly superblocks?: number;
}

/** A segment of a small job. */
export function testSegment(backend: Backend, choice: SegmentChoice = {}): TestSegment {
  const manifest = choice.manifest ?? testManifest();
  const profile = choice.profile ?? testProfile;
  const variant = choice.variant ?? 'joint';
  const index = choice.index ?? 0;
  const superblocks = choice.superblocks ?? 3;
  const plan = derivePlanUnchecked(manifest, profile, variant);
  const recordCount = superblocks * manifest.superblock * manifest.batch;
  const isWhole = plan.shape.segmentVars > 0;
  const parts = isWhole
    ? [wholeSet(manifest, superblocks)]
    : Array.from({ length: superblocks }, (_, k) => testExamples(manifest, k));
  const data = parts.map((examples, k) => commitData(backend, plan, examples, seedOf(`data ${k}`)).commitment);
  const digests = data.map((commitment) => dataDigestOf(commitment, plan));
  const superblock = isWhole ? 0 : superblockOfStep(manifest, index * manifest.superblock, recordCount);
  const before = choice.before ?? { weights: choice.weights ?? initialWeights(manifest), seed: seedOf('weights') };
  const job = utf8(choice.job ?? 'job');
  return {
    plan,
    input: {
      statement: {
        manifest,
        profile: profile.name,
        variant,
        outerDigest: (weightsAfter) => taggedDigest('test outer statement', weightsAfter, job),
        index,
        recordCount,
        datasetRoot: datasetRoot(digests),
        data: data[superblock]!,
        dataPath: merklePath(digests, superblock),
        before: commitBefore(backend, plan, before),
      },
      before,
      examples: parts[superblock]!,
      dataSeed: seedOf(`data ${superblock}`),
      secret: seedOf(choice.secret ?? 'prover secret'),
      ...(variant === 'separate' ? { afterSeed: seedOf('weights after') } : {}),
    },
  };
}

/** The commitment that opens with these weights, seed and, after a joint proof, leaf endings. */
function commitBefore(backend: Backend, plan: Plan, before: WeightSecret): Commitment {
  const mark = backend.mark();
  const columns = paddedWeights(plan.shape, before.weights);
  const { commitment } = commitColumns(backend, plan.trees.W0, plan.profile, columns, before.seed, before.aux);
  backend.release(mark);
  return commitment;
}
