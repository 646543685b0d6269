/** What a statement about a set of records is computed with: one batch of them all, and a forward pass (libs/zk/SPEC.md §21). */
import type { Manifest } from '#libs/step';
import { refuse } from '../commit/layout/refuse.js';
import { shapeOf, type Shape } from '../commit/layout/shape.js';

/** Most records of one statement: a verifier sums over them. */
const recordsMax = 2 ** 17;
/** Most inputs, or units of one layer, of all its records, filled up to powers of two. */
const cellsMax = 2 ** 30;

/**
 * @param records  n, 1 to 2^17
 * @throws Rejection STEP_PLAN for a manifest that cannot be proved, another number of records, or too wide a net for so many
 */
export function accuracyShape(
  manifest: Manifest,
  { inputsFirst = false }: { readonly inputsFirst?: boolean },
  records: number,
): Shape {
  if (!Number.isSafeInteger(records) || records < 1 || records > recordsMax) {
    refuse('STEP_PLAN', `1 to ${recordsMax} records`, records, 'libs/zk/SPEC.md §21');
  }
  const whole = shapeOf({ ...manifest, batch: records, superblock: 1 }, { inputsFirst });
  const cells = whole.samples * Math.max(...whole.widths);
  if (cells > cellsMax) refuse('STEP_PLAN', `at most ${cellsMax} values of one layer`, cells, 'libs/zk/SPEC.md §21');
  return { ...whole, loss: 'accuracy', isForward: true, reciprocalBits: 0, expVars: 0, expValues: [] };
}
