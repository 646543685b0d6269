/**
 * Commitments of scheme `fxt-groth16/1`: blinded Poseidon over packed weights and over the bytes of records
 * (libs/zk/src/groth16/SPEC.md §4).
 */
import { concatBytes, taggedDigest, word } from '#attestation/base';
import { checkWeights, recordBytes, type Examples, type Weights } from '#libs/step';
import { refuse } from '../../commit/layout/refuse.js';
import { commitmentTags } from '../relation/circuit.js';
import { bytesPerElement, R, type CircuitShape } from '../relation/shape.js';
import { poseidonCommit } from './poseidon.js';

/** A field element that hides what is committed to; drawn from 32 secret bytes. */
export type Blind = bigint;

/** A uniform field element, up to 2^-256, from a secret, a label and an index. */
export function blindFrom(secret: Uint8Array, label: string, index: number): Blind {
  const half = (part: number): bigint =>
    taggedDigest(`fxt-groth16/blind/${label}`, secret, word(index), word(part)).reduce(
      (sum, byte) => (sum << 8n) | BigInt(byte),
      0n,
    );
  return ((half(0) << 256n) | half(1)) % R;
}

/** @throws Rejection WEIGHTS_SHAPE, WEIGHTS_RANGE */
export function commitToWeights(shape: CircuitShape, weights: Weights, blind: Blind): Uint8Array {
  checkWeights(shape.manifest, weights);
  const elements = new Array<bigint>(shape.weightElements).fill(0n);
  let at = 0;
  shape.tensors.forEach(({ bits }, i) => {
    for (const value of weights[i]!.values) {
      const slot = BigInt(shape.slotBits * (at % shape.slots));
      elements[Math.floor(at / shape.slots)]! += (value + (1n << BigInt(bits))) << slot;
      at++;
    }
  });
  return word(poseidonCommit(commitmentTags.weights, blind, elements));
}

/**
 * @param examples the records of one superblock
 * @throws Rejection BATCH_SIZE
 */
export function commitToData(shape: CircuitShape, examples: Examples, blind: Blind): Uint8Array {
  const { manifest, dataElements } = shape;
  if (examples.count !== manifest.superblock * manifest.batch) {
    refuse(
      'BATCH_SIZE',
      `${manifest.superblock * manifest.batch} examples`,
      examples.count,
      'libs/zk/src/groth16/SPEC.md §4',
    );
  }
  const width = recordBytes(manifest) - 1;
  const records = Array.from({ length: examples.count }, (_, r) =>
    concatBytes(examples.features.subarray(r * width, (r + 1) * width), examples.labels.subarray(r, r + 1)),
  );
  const bytes = concatBytes(...records);
  const elements = Array.from({ length: dataElements }, (_, k) =>
    bytes
      .subarray(k * bytesPerElement, (k + 1) * bytesPerElement)
      .reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n),
  );
  return word(poseidonCommit(commitmentTags.data, blind, elements));
}
