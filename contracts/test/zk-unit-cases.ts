/** Units of several segments for the step verifier on chain (libs/zk/SPEC.md §20). */
import type { Profile } from '../../libs/zk/src/commit/params.js';
import { testManifest, testProfile, type SegmentChoice } from '../../libs/zk/src/testing/segments.js';

const level = { k: 2, logBlowup: 3, multiplicity: 2, queries: 5, grind: 2, grindFold: 1 };
const unit = (unitSteps: number, more: Partial<Profile> = {}): Profile => ({ ...testProfile, unitSteps, ...more });
const twoSteps = testManifest({ superblock: 2 });

const threeLevels = { oodPoints: 2, inputsFirst: true, deeper: [level, { ...level, k: 1 }] } as const;

/** Three levels: verified in two transactions. */
export const splitUnits: readonly (readonly [string, SegmentChoice])[] = [
  ['separate', { profile: unit(8, threeLevels), variant: 'separate', manifest: twoSteps, index: 1 }],
  ['joint, mse', { profile: unit(8, threeLevels), manifest: testManifest({ loss: 'mse', superblock: 2 }) }],
];

/** Each is accepted. */
export const unitChoices: readonly (readonly [string, SegmentChoice])[] = [
  ['four of one step', { profile: unit(4) }],
  ['four of two steps, later in the job', { profile: unit(8), manifest: twoSteps, index: 1 }],
  ['a separate tree', { profile: unit(8), manifest: twoSteps, variant: 'separate' }],
  ['a schedule that changes inside of segments and between', { profile: unit(16), manifest: testManifest({ superblock: 4, m: [[0, 4], [4, 2], [6, 1], [13, 3]] }) }], // prettier-ignore
  ['null steps from the middle of a segment on', { profile: unit(8), manifest: testManifest({ superblock: 2, steps: 11 }), index: 1 }], // prettier-ignore
  ['three layers, three classes', { profile: unit(4), manifest: testManifest({ dims: [5, 7, 6, 3] }) }],
  ['one layer, ten classes', { profile: unit(8), manifest: testManifest({ dims: [6, 10], superblock: 2 }) }],
  ['a batch of three', { profile: unit(4), manifest: testManifest({ batch: 3, superblock: 1 }) }],
  ['errors of 14 bits', { profile: unit(4), manifest: testManifest({ gbits: 14 }) }],
  ['inputs first, two levels', { profile: unit(16, { oodPoints: 2, inputsFirst: true, deeper: [level] }), manifest: testManifest({ superblock: 4 }) }], // prettier-ignore
  ['eight layers', { profile: unit(4), manifest: testManifest({ dims: [3, 4, 2, 3, 4, 2, 3, 4, 2] }) }],
  ['one superblock, a batch of one', { profile: unit(8), manifest: testManifest({ batch: 1, superblock: 2 }), superblocks: 1, index: 1 }], // prettier-ignore
  ['as many superblocks as segments, the last unit', { profile: unit(8), manifest: testManifest({ superblock: 2 }), superblocks: 4, index: 7 }], // prettier-ignore
  ['rows of ends that are left out', { profile: unit(4, { m: 9, k1: 3, queries0: 4, queries1: 3 }), manifest: testManifest({ dims: [5, 200, 3] }) }], // prettier-ignore
  ['segments of sixty-four steps, a schedule that changes at the last of one, null steps', { profile: unit(128), manifest: testManifest({ superblock: 64, steps: 120, m: [[0, 4], [63, 2]] }), superblocks: 2 }], // prettier-ignore
  ['mse', { profile: unit(8), manifest: testManifest({ loss: 'mse', dims: [5, 4, 3], superblock: 2 }) }],
  ['mse, one layer, a separate tree, null segments', { profile: unit(8), variant: 'separate', manifest: testManifest({ loss: 'mse', dims: [5, 3], superblock: 2, steps: 3 }) }], // prettier-ignore
  ['mse, three samples, a schedule', { profile: unit(8), manifest: testManifest({ loss: 'mse', batch: 3, superblock: 2, m: [[0, 4], [3, 2]] }) }], // prettier-ignore
];

/** Shapes whose proofs are changed, and how many times of a hundred. */
export const mutatedUnits: readonly (readonly [string, SegmentChoice, number])[] = [
  ['joint, two steps', { profile: unit(8), manifest: twoSteps, index: 1 }, 1.2],
  ['mse, separate', { profile: unit(4), variant: 'separate', manifest: testManifest({ loss: 'mse' }) }, 0.8],
];
