/** Training records in the data owner's order, and the blocks that steps read. */
import { Rejection } from '#attestation/base';
import { blockOfStep, featureCount, superblockOfStep, type Examples, type Manifest } from '#libs/step';

/** @throws Rejection ORDER_TOO_FEW_RECORDS */
export function superblockExamples(m: Manifest, examples: Examples, firstStep: number): Examples {
  const index = superblockOfStep(m, firstStep, examples.count);
  return slice(m, examples, index * m.superblock * m.batch, m.superblock * m.batch);
}

/** @throws Rejection ORDER_TOO_FEW_RECORDS */
export function blockExamples(m: Manifest, examples: Examples, step: number): Examples {
  return slice(m, examples, blockOfStep(m, step, examples.count) * m.batch, m.batch);
}

export function slice(m: Manifest, { features, labels }: Examples, first: number, count: number): Examples {
  const width = featureCount(m);
  return {
    count,
    features: features.subarray(first * width, (first + count) * width),
    labels: labels.subarray(first, first + count),
  };
}

/** Whole segments within the job. @throws Rejection SEGMENT_ALIGNMENT, SEGMENT_RANGE */
export function checkRange(m: Manifest, from: number, steps: number): { first: number; segments: number } {
  const S = m.superblock;
  if (from + steps > m.steps) {
    refuse('SEGMENT_RANGE', `steps up to ${m.steps}, the job's last`, `${from} to ${from + steps}`);
  }
  if (from % S !== 0 || (steps % S !== 0 && from + steps !== m.steps)) {
    refuse('SEGMENT_ALIGNMENT', `whole superblocks of ${S} steps (the manifest's superblock)`, `${from}, ${steps}`);
  }
  return { first: from / S, segments: Math.ceil(steps / S) };
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, {
    expected,
    got,
    rule: 'libs/zk/SPEC.md §2.2',
    action: 'choose another --from or --steps',
  });
}
