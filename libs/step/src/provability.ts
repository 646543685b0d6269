/**
 * Can a step proof of version 1 cover this job, and in segments of how many steps (libs/step/SPEC.md §16,
 * libs/zk/SPEC.md §13.3)?
 */
import { lossOf } from './losses/index.js';
import type { Manifest } from './manifest.js';
import { layerScales, stepSizeMax, type LayerScale } from './scale.js';

export interface Provability {
  /** True when a segment of the manifest's superblock S can be proved. */
  readonly provable: boolean;
  /** Largest power of two T up to 256 for which no condition fails; 0 when there is none. */
  readonly segmentStepsMax: number;
  /** Why not, one sentence each; empty when provable. */
  readonly reasons: readonly string[];
}

/** Longest segment considered: the longest that libs/zk/SPEC.md §13.3 states to hold. */
const segmentStepsCap = 256;

export function provability(m: Manifest): Provability {
  const reasons = shapeReasons(m);
  if (reasons.length > 0) return { provable: false, segmentStepsMax: 0, reasons };
  let segmentStepsMax = 0;
  for (let T = 1; T <= segmentStepsCap && wrapReasons(m, T).length === 0; T *= 2) segmentStepsMax = T;
  if (m.superblock <= segmentStepsMax) return { provable: true, segmentStepsMax, reasons: [] };
  return { provable: false, segmentStepsMax, reasons: wrapReasons(m, m.superblock) };
}

/** Conditions that do not depend on the segment length. */
function shapeReasons(m: Manifest): string[] {
  const reasons: string[] = [];
  const demand = (holds: boolean, reason: string) => {
    if (!holds) reasons.push(reason);
  };
  demand(m.ybits === 16, `ybits is ${m.ybits}, not 16`);
  demand(m.gbits <= 16, `gbits is ${m.gbits}, more than 16`);
  reasons.push(...lossOf(m).unprovable());
  for (const scale of layerScales(m)) {
    const l = scale.layer;
    const inRange = (s: number | undefined) => s === undefined || (s >= 17 && s <= 32);
    demand(inRange(scale.forwardShift), `layer ${l}: forward shift ${scale.forwardShift} is outside 17..32`);
    demand(inRange(scale.backwardShift), `layer ${l}: backward shift ${scale.backwardShift} is outside 17..32`);
    demand(scale.weightBits <= 31, `layer ${l}: w + wint = ${scale.weightBits} is more than 31`);
    demand(scale.biasBits >= 15, `layer ${l}: β + wint = ${scale.biasBits} is less than 15`);
  }
  return reasons;
}

/** Limbs of one layer that are looked up as they are besides scaled: the scaled lookup alone would not bound them. */
export interface UnscaledLimbs {
  readonly forward: boolean;
  readonly backward: boolean;
  readonly weight: boolean;
  readonly bias: boolean;
}

/**
 * Where condition N2 (for the limbs of weights and biases, N3) fails for the manifest's superblock: by layer from 1.
 * The limit of a scaled limb of a shift s is 2^(31+s) (libs/zk/SPEC.md §13.3).
 */
export function unscaledLimbs(m: Manifest): readonly UnscaledLimbs[] {
  return layerScales(m).map((scale) => {
    const { forward, backward, weight, bias } = magnitudes(m, scale, BigInt(m.superblock));
    const exceeds = (value: bigint, shift: number) => value >= (1n << BigInt(31 + shift)) - (1n << 17n);
    return {
      forward: exceeds(forward, scale.forwardShift),
      backward: scale.backwardShift !== undefined && exceeds(backward, scale.backwardShift),
      weight: exceeds(weight, scale.weightBits + 1),
      bias: exceeds(bias, scale.biasBits + 1),
    };
  });
}

/** Condition N1 for segments of T steps. Weights inside a segment have moved at most T − 1 times. */
function wrapReasons(m: Manifest, T: number): string[] {
  return layerScales(m).flatMap((scale) => {
    const { forward, backward, weight, bias } = magnitudes(m, scale, BigInt(T));
    const name = (what: string, value: bigint) =>
      value < 1n << 62n ? [] : [`layer ${scale.layer}: N1 (${what} below 2^62) fails for segments of ${T} steps`];
    return [
      ...name('forward', forward),
      ...(scale.backwardShift === undefined ? [] : name('backward', backward)),
      ...name('weights', weight > bias ? weight : bias),
    ];
  });
}

function magnitudes(m: Manifest, scale: LayerScale, T: bigint) {
  const errorSum = BigInt(stepSizeMax(m)) * BigInt(m.batch) * BigInt(scale.errorMax);
  const change = errorSum * BigInt(scale.inputMax);
  const [omega, omegaBias] = [1n << BigInt(scale.weightBits), 1n << BigInt(scale.biasBits)];
  const inside = omega + (T - 1n) * change;
  const products = BigInt(scale.inputs) * BigInt(scale.inputMax) * inside;
  const biasTerm = (omegaBias + (T - 1n) * errorSum) << BigInt(2 * scale.aIn);
  const rounding = (s: number) => 1n << BigInt(s + 16);
  return {
    forward: products + biasTerm + rounding(scale.forwardShift),
    backward: BigInt(scale.outputs) * BigInt(scale.errorMax) * inside + rounding(scale.backwardShift ?? 0),
    weight: 2n * omega + T * change,
    bias: 2n * omegaBias + T * errorSum,
  };
}
