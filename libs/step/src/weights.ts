/** Weights as named integer tensors: initial values, canonical bytes, state digest (libs/step/SPEC.md §9, §11). */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { uintBe, utf8 } from '#attestation/base';
import { refuse } from './errors.js';
import { isqrt } from './integers.js';
import type { Manifest } from './manifest.js';
import { below, wordStream, type HashMany } from './random.js';
import { layerScales } from './scale.js';

export interface Tensor {
  /** `W1`, `b1`, `W2` … */
  readonly name: string;
  /** [n_{l-1}, n_l] for weights, [n_l] for biases. */
  readonly dims: readonly number[];
  /** Row-major. */
  readonly values: BigInt64Array;
}

/** W1, b1, W2, b2 … in this order. */
export type Weights = readonly Tensor[];

export interface TensorShape {
  readonly name: string;
  readonly dims: readonly number[];
  /** Largest value at a border: 2^(w + wint) − 1 or 2^(β + wint) − 1. The least is −magnitudeMax − 1. */
  readonly magnitudeMax: bigint;
}

export function tensorShapes(m: Manifest): readonly TensorShape[] {
  return layerScales(m).flatMap(({ layer, inputs, outputs, weightBits, biasBits }) => [
    { name: `W${layer}`, dims: [inputs, outputs], magnitudeMax: (1n << BigInt(weightBits)) - 1n },
    { name: `b${layer}`, dims: [outputs], magnitudeMax: (1n << BigInt(biasBits)) - 1n },
  ]);
}

export function tensorSize(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}

/** Start weights drawn from the manifest's seed; biases are 0. @param hashMany as `wordStream` */
export function initialWeights(m: Manifest, hashMany?: HashMany): Weights {
  const word = wordStream('fxt/init/v1', m.seed, hashMany);
  let i = 0;
  return layerScales(m).flatMap(({ layer, inputs, outputs, w }) => {
    const limit = isqrt((6n * 4n ** BigInt(w)) / BigInt(inputs));
    const values = new BigInt64Array(inputs * outputs);
    for (let j = 0; j < values.length; j++) values[j] = below(word(i++), 2n * limit + 1n) - limit;
    return [
      { name: `W${layer}`, dims: [inputs, outputs], values },
      { name: `b${layer}`, dims: [outputs], values: new BigInt64Array(outputs) },
    ];
  });
}

/** @throws Rejection WEIGHTS_SHAPE or WEIGHTS_RANGE when the tensors are not weights of this manifest at a border */
export function checkWeights(m: Manifest, weights: Weights): void {
  checkShapes(m, weights);
  tensorShapes(m).forEach(({ name, magnitudeMax: high }, index) => {
    for (const value of weights[index]!.values) {
      if (value > high || value < -high - 1n) {
        refuse('WEIGHTS_RANGE', `${name} within ${-high - 1n}..${high}`, String(value), 'libs/step/SPEC.md §7');
      }
    }
  });
}

/** @throws Rejection WEIGHTS_SHAPE */
export function checkShapes(m: Manifest, weights: Weights): void {
  const shapes = tensorShapes(m);
  if (weights.length !== shapes.length) refuse('WEIGHTS_SHAPE', `${shapes.length} tensors`, weights.length, rule);
  shapes.forEach((shape, index) => {
    const { name, dims, values } = weights[index]!;
    if (name !== shape.name || String(dims) !== String(shape.dims) || values.length !== tensorSize(shape.dims)) {
      refuse('WEIGHTS_SHAPE', `${shape.name} [${shape.dims.join()}]`, `${name} [${dims.join()}]`, rule);
    }
  });
}

/** keccak-256 of one message in parts, to 32 bytes. */
export type HashParts = (parts: readonly Uint8Array[]) => Uint8Array;

export const hashPartsReference: HashParts = (parts) => {
  const hash = keccak_256.create();
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/**
 * keccak-256 of `fxt-state-v1` and, per tensor, u32be rank, u32be dims, int64 little-endian elements; 32 bytes.
 *
 * @param hashParts for whoever has a faster hash
 * @throws Rejection WEIGHTS_SHAPE
 */
export function stateDigest(m: Manifest, weights: Weights, hashParts: HashParts = hashPartsReference): Uint8Array {
  const parts = tensorShapes(m).flatMap((shape, index) => {
    const tensor = weights[index];
    if (tensor?.name !== shape.name || tensor.values.length !== tensorSize(shape.dims)) {
      refuse('WEIGHTS_SHAPE', `${shape.name} [${shape.dims.join()}]`, tensor?.name ?? 'nothing', rule);
    }
    const sizes = shape.dims.map((size) => uintBe(size, 4));
    return [uintBe(shape.dims.length, 4), ...sizes, tensorBytes(tensor.values)];
  });
  return hashParts([utf8('fxt-state-v1'), ...parts]);
}

const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Elements as int64 two's complement little-endian. */
export function tensorBytes(values: BigInt64Array): Uint8Array {
  if (littleEndian) return new Uint8Array(values.buffer, values.byteOffset, values.byteLength).slice();
  const bytes = new Uint8Array(8 * values.length);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < values.length; i++) view.setBigInt64(8 * i, values[i]!, true);
  return bytes;
}

/** Inverse of `tensorBytes`. */
function tensorValues(bytes: Uint8Array): BigInt64Array {
  const { buffer } = new Uint8Array(bytes);
  const values = new BigInt64Array(buffer);
  if (littleEndian) return values;
  const view = new DataView(buffer);
  return values.map((_, i) => view.getBigInt64(8 * i, true));
}

/** Canonical bytes of all elements in tensor order, without names or sizes; the manifest fixes those. */
export function encodeWeights(weights: Weights): Uint8Array {
  const bytes = new Uint8Array(weights.reduce((sum, { values }) => sum + 8 * values.length, 0));
  let offset = 0;
  for (const { values } of weights) {
    bytes.set(tensorBytes(values), offset);
    offset += 8 * values.length;
  }
  return bytes;
}

/**
 * Inverse of `encodeWeights`.
 *
 * @throws Rejection WEIGHTS_LENGTH, WEIGHTS_RANGE
 */
export function decodeWeights(m: Manifest, bytes: Uint8Array): Weights {
  const shapes = tensorShapes(m);
  const expected = shapes.reduce((sum, { dims }) => sum + 8 * tensorSize(dims), 0);
  if (bytes.length !== expected) refuse('WEIGHTS_LENGTH', `${expected} bytes`, bytes.length, rule);
  let offset = 0;
  const weights = shapes.map(({ name, dims }) => {
    const from = offset;
    offset += 8 * tensorSize(dims);
    return { name, dims, values: tensorValues(bytes.subarray(from, offset)) };
  });
  checkWeights(m, weights);
  return weights;
}

const rule = 'libs/step/SPEC.md §11';
