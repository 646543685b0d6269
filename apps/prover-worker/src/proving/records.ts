/** Training records in the data owner's order, and the blocks that steps read. */
import { Rejection } from '#attestation/base';
import { blockOfStep, sliceExamples, superblockOfStep, type Examples, type Manifest } from '#libs/step';
import type { Plan } from '#libs/zk/verifier';

/** @throws Rejection ORDER_TOO_FEW_RECORDS */
export function superblockExamples(m: Manifest, examples: Examples, firstStep: number): Examples {
  const index = superblockOfStep(m, firstStep, examples.count);
  return sliceExamples(m, examples, index * m.superblock * m.batch, m.superblock * m.batch);
}

/** @throws Rejection ORDER_TOO_FEW_RECORDS */
export function blockExamples(m: Manifest, examples: Examples, step: number): Examples {
  return sliceExamples(m, examples, blockOfStep(m, step, examples.count) * m.batch, m.batch);
}

/** The records that the data commitment of one proof holds, and its number among those of the data set. */
export function committedRecords(
  { shape }: Pick<Plan, 'shape'>,
  examples: Examples,
  firstStep: number,
): { readonly part: number; readonly records: Examples } {
  const { manifest, segmentVars } = shape;
  if (segmentVars > 0) return { part: 0, records: examples };
  const part = superblockOfStep(manifest, firstStep, examples.count);
  return { part, records: superblockExamples(manifest, examples, firstStep) };
}

/**
 * Whole segments within the job.
 *
 * @param S steps that one proof covers
 * @throws Rejection SEGMENT_ALIGNMENT, SEGMENT_RANGE
 */
export function checkRange(
  m: Pick<Manifest, 'steps' | 'superblock'>,
  from: number,
  steps: number,
  S = m.superblock,
): { first: number; segments: number } {
  if (from + steps > m.steps) {
    refuse('SEGMENT_RANGE', `steps up to ${m.steps}, the job's last`, `${from} to ${from + steps}`);
  }
  if (from % S !== 0 || (steps % S !== 0 && from + steps !== m.steps)) {
    refuse('SEGMENT_ALIGNMENT', `whole segments of ${S} steps, as one proof covers`, `${from}, ${steps}`);
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
