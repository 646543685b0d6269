/** The statement of a step proof and the context that the transcript starts from (libs/zk/SPEC.md §2.2). */
import { concatBytes, keccak, taggedDigest, word } from '#attestation/base';
import { checkMerklePath, manifestDigest, stepSize, superblockOfStep, type Manifest } from '#libs/step';
import { dataDigestOf, requireDigest, weightsDigestOf, type Commitment } from '../commit/commitment.js';
import { refuse } from '../commit/layout/refuse.js';
import { checkRoom } from '../commit/layout/room.js';
import type { Plan, Variant } from '../relation/plan.js';

export interface StepProofStatement {
  /** As `parseManifest` of libs/step gives it. */
  readonly manifest: Manifest;
  /** Name of a profile in params.ts. */
  readonly profile: string;
  readonly variant: Variant;
  /** Digest of the outer statement that this proof serves, 32 bytes; the caller checks what it says. */
  readonly outerDigest: Uint8Array;
  /** The proof covers steps index·T … index·T + T − 1, T those of the plan's shape. */
  readonly index: number;
  /** Records of the data set, which fix the epoch order; the caller checks them against the job. */
  readonly recordCount: number;
  readonly datasetRoot: Uint8Array;
  readonly data: Commitment;
  /** Siblings of the superblock's dataDigest up to datasetRoot; none where one commitment holds the whole set. */
  readonly dataPath: readonly Uint8Array[];
  readonly before: Commitment;
  readonly after: Commitment;
}

/** What the argument itself needs from a statement. */
export interface Context {
  readonly digest: Uint8Array;
  /** m_t of the proof's steps, 0 for steps beyond the job's last. */
  readonly stepSizes: readonly number[];
  /** Which superblock every segment reads. */
  readonly superblocks: readonly number[];
  readonly weightsBefore: Uint8Array;
  readonly weightsAfter: Uint8Array;
}

/** @throws Rejection STEP_STATEMENT when a field is malformed, MERKLE_PATH when the data is not the registered superblock */
export function contextOf(statement: StepProofStatement, plan: Plan): Context {
  const { manifest, index, recordCount } = statement;
  const { steps: T, segmentVars } = plan.shape;
  const firstStep = T * index;
  if (!Number.isSafeInteger(index) || index < 0 || firstStep >= manifest.steps) {
    refuse('STEP_STATEMENT', `a segment that starts before step ${manifest.steps}`, index, 'libs/zk/SPEC.md §2.2');
  }
  if (!Number.isSafeInteger(recordCount) || recordCount < 1) {
    refuse('STEP_STATEMENT', 'a positive number of records', recordCount, 'libs/zk/SPEC.md §2.2');
  }
  for (const bytes of [statement.outerDigest, statement.datasetRoot, ...statement.dataPath]) requireDigest(bytes);
  const stepSizes = scheduleOf(manifest, firstStep, T);
  const superblocks = superblocksOf(plan, firstStep, recordCount);
  const dataDigest = dataDigestOf(statement.data, plan);
  const [only] = segmentVars > 0 ? [0] : superblocks;
  checkMerklePath(statement.datasetRoot, dataDigest, only!, statement.dataPath);
  const [weightsBefore, weightsAfter] = [
    weightsDigestOf(statement.before, plan),
    weightsDigestOf(statement.after, plan),
  ];
  const digest = taggedDigest(
    segmentVars > 0 ? 'fxt-step/2' : 'fxt-step/1',
    concatBytes(
      statement.outerDigest,
      word(firstStep),
      word(T),
      manifestDigest(manifest),
      plan.digest,
      statement.datasetRoot,
      segmentVars > 0 ? keccak(concatBytes(...superblocks.map(word))) : word(superblocks[0]!),
      dataDigest,
      keccak(Uint8Array.from(stepSizes)),
      weightsBefore,
      weightsAfter,
    ),
  );
  return { digest, stepSizes, superblocks, weightsBefore, weightsAfter };
}

/** m_t of `count` steps from `firstStep` on; 0 beyond the job's last step. */
export function scheduleOf(manifest: Manifest, firstStep: number, count = manifest.superblock): number[] {
  return Array.from({ length: count }, (_, t) =>
    firstStep + t < manifest.steps ? stepSize(manifest, firstStep + t) : 0,
  );
}

/** What a seal says of the steps of a proof: m_t, a byte each, and of a unit then which superblock every segment reads, a word each. */
export function stepBytes({ shape }: Pick<Plan, 'shape'>, index: number, recordCount: number): Uint8Array {
  const firstStep = index * shape.steps;
  const sizes = Uint8Array.from(scheduleOf(shape.manifest, firstStep, shape.steps));
  if (shape.segmentVars === 0) return sizes;
  return concatBytes(sizes, ...superblocksOf({ shape }, firstStep, recordCount).map(word));
}

/** Which superblock every segment from `firstStep` on reads. @throws Rejection as `checkRoom` */
export function superblocksOf({ shape }: Pick<Plan, 'shape'>, firstStep: number, recordCount: number): number[] {
  const { manifest, segmentVars } = shape;
  checkRoom(shape, recordCount);
  return Array.from({ length: 2 ** segmentVars }, (_, j) =>
    superblockOfStep(manifest, firstStep + j * manifest.superblock, recordCount),
  );
}
