/** The statement of a step proof and the context that the transcript starts from (libs/zk/SPEC.md §2.2). */
import { concatBytes, keccak, taggedDigest, word } from '#attestation/base';
import { weightsDigest } from '#attestation/records';
import { checkMerklePath, manifestDigest, stepSize, superblockOfStep, type Manifest } from '#libs/step';
import type { Ext } from '../field/extension.js';
import { P } from '../field/goldilocks.js';
import type { Profile } from '../params.js';
import type { Plan, Variant } from '../relation/plan.js';
import { refuse } from '../relation/refuse.js';
import { dataLayout, layoutDigest, weightLayout } from '../relation/tree-layout.js';

/** Root of a committed matrix and the word that stands for its out-of-domain values (relation/ood.ts). */
export interface Commitment {
  readonly root: Uint8Array;
  readonly ood: Uint8Array;
}

export interface StepProofStatement {
  /** As `parseManifest` of libs/step gives it. */
  readonly manifest: Manifest;
  /** Name of a profile in params.ts. */
  readonly profile: string;
  readonly variant: Variant;
  /** Digest of the outer statement that this proof serves, 32 bytes; the caller checks what it says. */
  readonly outerDigest: Uint8Array;
  /** The segment covers steps index·T … index·T + T − 1, T the manifest's superblock. */
  readonly index: number;
  /** Records of the data set, which fix the epoch order; the caller checks them against the job. */
  readonly recordCount: number;
  readonly datasetRoot: Uint8Array;
  readonly data: Commitment;
  /** Siblings of the superblock's dataDigest up to datasetRoot. */
  readonly dataPath: readonly Uint8Array[];
  readonly before: Commitment;
  readonly after: Commitment;
}

/** What the argument itself needs from a statement. */
export interface Context {
  readonly digest: Uint8Array;
  /** m_t of the segment's steps, 0 for steps beyond the job's last. */
  readonly stepSizes: readonly number[];
  readonly superblockIndex: number;
  readonly weightsBefore: Uint8Array;
  readonly weightsAfter: Uint8Array;
}

/** What the bytes of a commitment depend on. */
export type Format = Pick<Plan, 'shape' | 'profile'>;

export const commitmentSchemeId = 'fxt-zk/1';

/** @throws Rejection STEP_STATEMENT when a field is malformed, MERKLE_PATH when the data is not the registered superblock */
export function contextOf(statement: StepProofStatement, plan: Plan): Context {
  const { manifest, index, recordCount } = statement;
  const T = manifest.superblock;
  const firstStep = T * index;
  if (!Number.isSafeInteger(index) || index < 0 || firstStep >= manifest.steps) {
    refuse('STEP_STATEMENT', `a segment that starts before step ${manifest.steps}`, index, 'libs/zk/SPEC.md §2.2');
  }
  if (!Number.isSafeInteger(recordCount) || recordCount < 1) {
    refuse('STEP_STATEMENT', 'a positive number of records', recordCount, 'libs/zk/SPEC.md §2.2');
  }
  for (const bytes of [statement.outerDigest, statement.datasetRoot, ...statement.dataPath]) requireDigest(bytes);
  const stepSizes = scheduleOf(manifest, firstStep);
  const superblockIndex = superblockOfStep(manifest, firstStep, recordCount);
  const dataDigest = dataDigestOf(statement.data, plan);
  checkMerklePath(statement.datasetRoot, dataDigest, superblockIndex, statement.dataPath);
  const [weightsBefore, weightsAfter] = [
    weightsDigestOf(statement.before, plan),
    weightsDigestOf(statement.after, plan),
  ];
  const digest = taggedDigest(
    'fxt-step/1',
    concatBytes(
      statement.outerDigest,
      word(firstStep),
      word(T),
      manifestDigest(manifest),
      plan.digest,
      statement.datasetRoot,
      word(superblockIndex),
      dataDigest,
      keccak(Uint8Array.from(stepSizes)),
      weightsBefore,
      weightsAfter,
    ),
  );
  return { digest, stepSizes, superblockIndex, weightsBefore, weightsAfter };
}

/** m_t of T steps from `firstStep` on; 0 beyond the job's last step. */
export function scheduleOf(manifest: Manifest, firstStep: number): number[] {
  return Array.from({ length: manifest.superblock }, (_, t) =>
    firstStep + t < manifest.steps ? stepSize(manifest, firstStep + t) : 0,
  );
}

/** The 32 bytes that stand for a weight commitment in statements and receipts. */
export function weightsDigestOf(commitment: Commitment, format: Format): Uint8Array {
  const { root, ood } = checkCommitment(commitment, format.profile);
  return weightsDigest({ scheme: commitmentSchemeId, root, ood, layoutDigest: layoutDigests(format).weights });
}

/** The 32 bytes that stand for a data commitment in the data set's tree. */
export function dataDigestOf(commitment: Commitment, format: Format): Uint8Array {
  const { root, ood } = checkCommitment(commitment, format.profile);
  return taggedDigest('fxt-data/1', root, ood, layoutDigests(format).data);
}

interface LayoutDigests {
  readonly weights: Uint8Array;
  readonly data: Uint8Array;
}

const knownLayouts = new WeakMap<Format['shape'], WeakMap<Format['profile'], LayoutDigests>>();

function layoutDigests({ shape, profile }: Format): LayoutDigests {
  const ofShape = knownLayouts.get(shape) ?? new WeakMap<Format['profile'], LayoutDigests>();
  knownLayouts.set(shape, ofShape);
  const digests = ofShape.get(profile) ?? {
    weights: layoutDigest(weightLayout(shape, profile), shape, profile),
    data: layoutDigest(dataLayout(shape, profile), shape, profile),
  };
  ofShape.set(profile, digests);
  return digests;
}

/** The value that is a word itself. @throws Rejection STEP_STATEMENT */
export function oodValue(commitment: Commitment): Ext {
  const view = new DataView(commitment.ood.buffer, commitment.ood.byteOffset, 32);
  const half = (at: number): bigint => (view.getBigUint64(at) << 64n) | view.getBigUint64(at + 8);
  const [c0, c1] = [half(0), half(16)];
  if (c0 >= P || c1 >= P)
    refuse('STEP_STATEMENT', 'a canonical out-of-domain value', `${c0}, ${c1}`, 'libs/zk/SPEC.md §2.1');
  return { c0, c1 };
}

function checkCommitment(commitment: Commitment, { oodPoints }: Profile): Commitment {
  requireDigest(commitment.root);
  requireDigest(commitment.ood);
  if (oodPoints === 1) oodValue(commitment);
  return commitment;
}

function requireDigest(bytes: Uint8Array): void {
  if (bytes.length !== 32) refuse('STEP_STATEMENT', '32 bytes', `${bytes.length} bytes`, 'libs/zk/SPEC.md §2.2');
}
