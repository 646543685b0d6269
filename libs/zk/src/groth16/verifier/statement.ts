/** From the statement of a segment to the public signals of its proof (libs/zk/src/groth16/SPEC.md §5). */
import { checkMerklePath, stepSize, superblockOfStep, type Manifest } from '#libs/step';
import { refuse } from '../../commit/layout/refuse.js';
import type { CircuitShape } from '../relation/shape.js';
import { packSizes, statementLimbs } from '../relation/signals.js';
import { checkElement, groth16DataDigest } from './digests.js';

export interface Groth16Segment {
  /** Digest of the outer statement that the proof serves, 32 bytes; the caller checks what it says. */
  readonly outerDigest: Uint8Array;
  /** The segment covers steps index·T … index·T + T − 1, T the manifest's superblock. */
  readonly index: number;
  readonly recordCount: number;
  readonly datasetRoot: Uint8Array;
  /** Commitments of scheme `fxt-groth16/1`, 32 bytes each. */
  readonly data: Uint8Array;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  /** Siblings of the superblock's data digest up to datasetRoot. */
  readonly dataPath: readonly Uint8Array[];
}

/**
 * @returns values in the order of `publicSignals`
 * @throws Rejection STEP_STATEMENT, MERKLE_PATH when the data is not the registered superblock
 */
export function signalsOf(shape: CircuitShape, segment: Groth16Segment): bigint[] {
  const { manifest } = shape;
  const { index, recordCount, outerDigest, datasetRoot, data, before, after, dataPath } = segment;
  const firstStep = manifest.superblock * index;
  if (!Number.isSafeInteger(index) || index < 0 || firstStep >= manifest.steps) {
    refuse('STEP_STATEMENT', `a segment that starts before step ${manifest.steps}`, index, rule);
  }
  if (!Number.isSafeInteger(recordCount) || recordCount < 1) {
    refuse('STEP_STATEMENT', 'a positive number of records', recordCount, rule);
  }
  if (outerDigest.length !== 32) refuse('STEP_STATEMENT', '32 bytes', outerDigest.length, rule);
  const superblock = superblockOfStep(manifest, firstStep, recordCount);
  checkMerklePath(datasetRoot, groth16DataDigest(shape, data), superblock, dataPath);
  return [
    ...[before, after, data].map(checkElement),
    ...statementLimbs(outerDigest),
    packSizes(segmentStepSizes(manifest, firstStep)),
  ];
}

/** m_t of a segment's steps; 0 beyond the job's last step. */
export function segmentStepSizes(manifest: Manifest, firstStep: number): number[] {
  return Array.from({ length: manifest.superblock }, (_, t) =>
    firstStep + t < manifest.steps ? stepSize(manifest, firstStep + t) : 0,
  );
}

const rule = 'libs/zk/src/groth16/SPEC.md §5';
