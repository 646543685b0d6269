/** Which block each step trains on: the affine epoch order with superblocks (libs/step/SPEC.md §9). */
import { refuse } from './errors.js';
import { gcd } from './integers.js';

import { below, wordStream } from './random.js';

/** What the order of a job's steps depends on. */
interface OrderedJob {
  readonly batch: number;
  readonly superblock: number;
  readonly seed: string;
}

export interface OrderSize {
  /** Superblocks N_S that one epoch visits. */
  readonly superblocks: number;
  /** Steps S·N_S of an epoch. */
  readonly epochSteps: number;
}

/**
 * @param recordCount records of the data set; those beyond the last whole superblock are not used
 * @throws Rejection ORDER_TOO_FEW_RECORDS when there is not one whole superblock
 */
export function orderSize(m: OrderedJob, recordCount: number): OrderSize {
  const superblocks = Math.floor(Math.floor(recordCount / m.batch) / m.superblock);
  if (superblocks < 1) {
    refuse('ORDER_TOO_FEW_RECORDS', `at least ${m.batch * m.superblock} records`, recordCount, 'libs/step/SPEC.md §9');
  }
  return { superblocks, epochSteps: superblocks * m.superblock };
}

/** α and β of an epoch over N groups. */
export function epochCoefficients(seed: string, epoch: number, n: number): { alpha: number; beta: number } {
  const word = wordStream('fxt/order/v1', seed);
  let alpha = 1 + Number(below(word(2 * epoch), BigInt(n)));
  while (gcd(alpha, n) !== 1) alpha = alpha === n ? 1 : alpha + 1;
  return { alpha, beta: Number(below(word(2 * epoch + 1), BigInt(n))) };
}

/** Superblock index that the group of steps containing `step` reads. */
export function superblockOfStep(m: OrderedJob, step: number, recordCount: number): number {
  const { superblocks, epochSteps } = orderSize(m, recordCount);
  const coefficients = epochCoefficients(m.seed, Math.floor(step / epochSteps), superblocks);
  return placeOfGroup(coefficients, Math.floor((step % epochSteps) / m.superblock), superblocks);
}

/** (α·group + β) mod n: above 2^26 superblocks the product is more than a double carries. */
function placeOfGroup({ alpha, beta }: ReturnType<typeof epochCoefficients>, group: number, n: number): number {
  return Number((BigInt(alpha) * BigInt(group) + BigInt(beta)) % BigInt(n));
}

/** Index of the block of B records that step `step` of the job trains on. */
export function blockOfStep(m: OrderedJob, step: number, recordCount: number): number {
  return m.superblock * superblockOfStep(m, step, recordCount) + (step % m.superblock);
}

/** `blockOfStep` of `count` steps from `fromStep` on, the coefficients drawn once per epoch. */
export function blocksOfSteps(m: OrderedJob, fromStep: number, count: number, recordCount: number): Int32Array {
  const { superblocks, epochSteps } = orderSize(m, recordCount);
  const blocks = new Int32Array(count);
  let epoch = -1;
  let coefficients = { alpha: 1, beta: 0 };
  for (let i = 0; i < count; i++) {
    const step = fromStep + i;
    if (Math.floor(step / epochSteps) !== epoch) {
      epoch = Math.floor(step / epochSteps);
      coefficients = epochCoefficients(m.seed, epoch, superblocks);
    }
    const group = Math.floor((step % epochSteps) / m.superblock);
    blocks[i] = m.superblock * placeOfGroup(coefficients, group, superblocks) + (step % m.superblock);
  }
  return blocks;
}
