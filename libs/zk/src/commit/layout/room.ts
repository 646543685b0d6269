/** Whether one commitment has room for a whole data set (libs/zk/SPEC.md §20). */
import { orderSize } from '#libs/step';
import { refuse } from './refuse.js';
import type { Shape } from './shape.js';

/**
 * @throws Rejection STEP_STATEMENT when several segments read a set that one commitment has no room for,
 *   ORDER_TOO_FEW_RECORDS when they read less than a superblock
 */
export function checkRoom(
  { manifest, segmentVars }: Pick<Shape, 'manifest' | 'segmentVars'>,
  recordCount: number,
): void {
  if (segmentVars === 0) return;
  const segments = 2 ** segmentVars;
  const { superblocks } = orderSize(manifest, recordCount);
  if (superblocks <= segments) return;
  refuse('STEP_STATEMENT', `a data set of at most ${segments} superblocks`, superblocks, 'libs/zk/SPEC.md §20');
}
