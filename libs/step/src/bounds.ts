/** Static range rules R1 to R4 (libs/step/SPEC.md §10): under them float64 carries every intermediate value exactly. */
import { refuse } from './errors.js';
import type { GuardSet } from './guard-set.js';
import { lossOf } from './losses/index.js';
import type { Bound } from './losses/loss.js';
import type { Manifest } from './manifest.js';
import { linear } from './ops/index.js';
import { layerScales, stepSizeMax, type LayerScale } from './scale.js';

/**
 * Refuses a manifest whose worst case leaves the integers that float64 carries exactly. Of a job that is proved R3 must
 * hold for the T steps of a segment, for weights are guarded at its borders alone.
 *
 * @throws Rejection STEP_RANGE_R1 | STEP_RANGE_R2 | STEP_RANGE_R3 | STEP_RANGE_R4, naming the layer
 */
export function checkBounds(m: Manifest, set: GuardSet = 'attested'): void {
  const steps = set === 'proved' ? m.superblock : 1;
  const layers = layerScales(m).flatMap((scale) => linear.bounds(scale, m.batch, steps * stepSizeMax(m)));
  [...layers, ...lossOf(m).bounds()].forEach(demand);
}

/**
 * How many bits more than their range weights of a layer may have, for R1 to R3 to hold for a step from them. Inside a
 * segment of a job that is proved weights may stray beyond their range; up to here float64 carries the step exactly.
 */
export function carriedBits(m: Manifest, scale: LayerScale): number {
  let more = 0;
  while (more < 53 && isCarried(m, { ...scale, ...wider(scale, more + 1) })) more++;
  return more;
}

function wider({ weightBits, biasBits }: LayerScale, more: number): Pick<LayerScale, 'weightBits' | 'biasBits'> {
  return { weightBits: weightBits + more, biasBits: biasBits + more };
}

function isCarried(m: Manifest, scale: LayerScale): boolean {
  return linear.bounds(scale, m.batch, stepSizeMax(m)).every(({ value, limit }) => value < limit);
}

function demand({ rule, where, value, limit }: Bound): void {
  if (value < limit) return;
  refuse(
    `STEP_RANGE_${rule}`,
    `a worst case of ${where} below 2^${limit.toString(2).length - 1}`,
    `2^${bits(value)}`,
    `libs/step/SPEC.md §10 ${rule}`,
  );
}

/** log2 of a positive integer, rounded up to hundredths. */
function bits(value: bigint): string {
  const size = value.toString(2).length;
  const shift = Math.max(0, size - 53);
  return (Math.ceil((Math.log2(Number(value >> BigInt(shift))) + shift) * 100) / 100).toFixed(2);
}
