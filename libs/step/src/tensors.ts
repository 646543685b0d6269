/** Named integer tensors and their digest (libs/step/SPEC.md §11). */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { uintBe, utf8 } from '#attestation/base';
import { refuse } from './errors.js';
import { tensorBytes, tensorValues } from './int64.js';

export interface Tensor {
  /** `W1`, `b1`, `W2` … in fxt 1; `<layer id>.W` … in fxt 2. */
  readonly name: string;
  /** [n_{l-1}, n_l] for weights, [n_l] for biases of fxt 1; of fxt 2 as its ops say. */
  readonly dims: readonly number[];
  /** Row-major. */
  readonly values: BigInt64Array;
}

/** W1, b1, W2, b2 … in this order; of fxt 2 the whole state of training. */
export type Weights = readonly Tensor[];

/** Elements of a tensor of these sizes. */
export function sizeOf(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}

/**
 * Tensors from the canonical bytes of their elements (libs/step/SPEC.md §11).
 *
 * @throws Rejection WEIGHTS_LENGTH
 */
export function decodeTensors(shapes: readonly Pick<Tensor, 'name' | 'dims'>[], bytes: Uint8Array): Weights {
  const expected = 8 * shapes.reduce((sum, { dims }) => sum + sizeOf(dims), 0);
  if (bytes.length !== expected) {
    refuse('WEIGHTS_LENGTH', `${expected} bytes`, bytes.length, 'libs/step/SPEC.md §11');
  }
  let offset = 0;
  return shapes.map(({ name, dims }) => {
    const from = offset;
    offset += 8 * sizeOf(dims);
    return { name, dims, values: tensorValues(bytes.subarray(from, offset)) };
  });
}

/** keccak-256 of one message in parts, to 32 bytes. */
export type HashParts = (parts: readonly Uint8Array[]) => Uint8Array;

export const hashPartsReference: HashParts = (parts) => {
  const hash = keccak_256.create();
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** `fxt-state-v1` and, per tensor, u32be rank, u32be dims, int64 little-endian elements: the message of a state digest. */
export function stateParts(tensors: Weights): Uint8Array[] {
  const parts = tensors.flatMap(({ dims, values }) => [
    uintBe(dims.length, 4),
    ...dims.map((size) => uintBe(size, 4)),
    tensorBytes(values),
  ]);
  return [utf8('fxt-state-v1'), ...parts];
}
