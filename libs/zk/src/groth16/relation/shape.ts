/** What a manifest fixes about its circuit, and which manifests have one (libs/zk/src/groth16/SPEC.md §2). */
import {
  layerScales,
  parameterCount,
  recordBytes,
  tensorShapes,
  type LayerScale,
  type Manifest,
  type TensorShape,
} from '#libs/step';
import { refuse } from '../../commit/layout/refuse.js';
import { lossCircuit, type LossCircuit } from './losses/index.js';

/** Order of BN254's groups: the circuit's field. */
export const R = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;

/** What the layout of a weight commitment names; values are in −2^bits … 2^bits − 1 at the segment's borders. */
type CircuitTensor = Pick<TensorShape, 'name' | 'dims' | 'bits'>;

export interface CircuitShape {
  readonly manifest: Manifest;
  readonly layers: readonly LayerScale[];
  readonly tensors: readonly CircuitTensor[];
  readonly loss: LossCircuit;
  /** Bits of a packed weight, and weights in one field element. */
  readonly slotBits: number;
  readonly slots: number;
  /** Field elements of a weight commitment and of a data commitment. */
  readonly weightElements: number;
  readonly dataElements: number;
}

/** Bytes of a record in one field element. */
export const bytesPerElement = 31;
/** A step size is one byte of one field element. */
const stepsMax = 31;
/** Packed values, and every sum of the relation, keep this far from the field's order. */
const bitsMax = 250;
const rule = 'libs/zk/src/groth16/SPEC.md §2';

/** @throws Rejection GROTH16_SHAPE for a manifest that has no circuit */
export function circuitShape(manifest: Manifest): CircuitShape {
  const layers = layerScales(manifest);
  if (manifest.superblock > stepsMax) {
    refuse('GROTH16_SHAPE', `segments of at most ${stepsMax} steps`, manifest.superblock, rule);
  }
  const tensors = tensorShapes(manifest).map(({ name, dims, bits }): CircuitTensor => ({ name, dims, bits }));
  for (const layer of layers) checkNoWrap(manifest, layer);
  const slotBits = Math.max(...tensors.map(({ bits }) => bits)) + 1;
  const slots = Math.floor(bitsMax / slotBits);
  const bytes = manifest.superblock * manifest.batch * recordBytes(manifest);
  return {
    ...{ manifest, layers, tensors, slotBits, slots, loss: lossCircuit(manifest, layers.at(-1)!) },
    weightElements: Math.ceil(parameterCount(manifest) / slots),
    dataElements: Math.ceil(bytes / bytesPerElement),
  };
}

/**
 * Every integer of the relation, and every value that is split into bits, stays below 2^250, so that equality in the
 * field is equality of integers. Weights inside a segment have moved by at most T·ΔW from their proved range.
 */
function checkNoWrap(m: Manifest, scale: LayerScale): void {
  const power = (bits: number): bigint => 1n << BigInt(Math.max(bits, 0));
  const error = BigInt(scale.errorMax);
  const drift = BigInt(m.superblock * 255 * m.batch) * error;
  const weight = power(scale.weightBits) + drift * BigInt(scale.inputMax);
  const forward =
    BigInt(scale.inputs * scale.inputMax) * weight + ((power(scale.biasBits) + drift) << BigInt(2 * scale.aIn));
  const backward = BigInt(scale.outputs) * error * weight;
  const [a, g] = [m.a.at(-1)!, m.g.at(-1)!];
  const split = [
    Math.abs(scale.forwardShift) + m.ybits,
    Math.abs(scale.backwardShift ?? 0) + m.gbits,
    Math.abs(a - g) + m.ybits,
  ];
  const scaled = (value: bigint, shift: number): bigint => value << BigInt(Math.max(-shift, 0));
  const largest = [
    scaled(forward, scale.forwardShift),
    scaled(backward, scale.backwardShift ?? 0),
    ...split.map((bits) => power(bits + 1)),
  ];
  if (largest.some((value) => value >= power(bitsMax))) {
    refuse('GROTH16_SHAPE', `integers of layer ${scale.layer} below 2^${bitsMax}`, 'larger ones', rule);
  }
}
