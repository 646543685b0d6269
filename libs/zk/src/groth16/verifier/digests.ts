/**
 * Digests that stand for commitments of scheme `fxt-groth16/1` in statements and data roots
 * (libs/zk/src/groth16/SPEC.md §4).
 */
import { concatBytes, exactBytes, taggedDigest, uintBe, utf8 } from '#attestation/base';
import { weightsDigest } from '#attestation/records';
import { canonicalJson, classCount, featureCount, type CanonicalValue } from '#libs/step';
import { refuse } from '../../commit/layout/refuse.js';
import { R, type CircuitShape } from '../relation/shape.js';

export const groth16SchemeId = 'fxt-groth16/1';

const zero = new Uint8Array(32);

/** The 32 bytes that stand for a weight commitment in statements and receipts. */
export function groth16WeightsDigest(shape: CircuitShape, root: Uint8Array): Uint8Array {
  checkElement(root);
  return weightsDigest({ scheme: groth16SchemeId, root, ood: zero, layoutDigest: weightLayoutDigest(shape) });
}

/** Binds the scheme, the tensors, their order, dimensions and ranges, and the packing. */
export function weightLayoutDigest({ tensors, slotBits, slots }: CircuitShape): Uint8Array {
  const layout = { scheme: groth16SchemeId, tensors, slotBits, slots } as unknown as CanonicalValue;
  return taggedDigest('fxt-groth16/layout/1', utf8(canonicalJson(layout)));
}

/** Features, classes, records of a batch and batches of a segment: what a plan and a commitment to data name. */
export function recordSizes({ manifest }: CircuitShape): readonly number[] {
  return [featureCount(manifest), classCount(manifest), manifest.batch, manifest.superblock];
}

/** The 32 bytes that stand for the commitment to a superblock in the data set's tree. */
export function groth16DataDigest(shape: CircuitShape, root: Uint8Array): Uint8Array {
  checkElement(root);
  const layout = recordSizes(shape).map((size) => uintBe(size, 4));
  return taggedDigest('fxt-groth16/data/1', root, concatBytes(...layout));
}

/** @throws Rejection STEP_STATEMENT unless the word is a canonical field element */
export function checkElement(root: Uint8Array): bigint {
  exactBytes('root', root);
  const value = root.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  if (value >= R)
    refuse('STEP_STATEMENT', 'a canonical element of the scalar field', value, 'libs/zk/src/groth16/SPEC.md §4');
  return value;
}
