/** What binds a set of weights: libs/zk/SPEC.md §2.1. */
import { concatBytes } from '../base/bytes.js';
import { exactBytes, taggedDigest, type Digest } from '../base/digest.js';

export interface WeightCommitment {
  /** How root and ood are computed, for example `state-keccak` (libs/step/SPEC.md §11). */
  readonly scheme: string;
  /** 32 bytes. */
  readonly root: Digest;
  /** Out-of-domain value that binds beyond the root, 32 bytes; zero where the scheme's root alone binds. */
  readonly ood: Uint8Array;
  /** Digest of the layout: binds the scheme, the tensors, their order and dimensions. */
  readonly layoutDigest: Digest;
}

/** The 32 bytes that statements, receipts and borders carry. */
export function weightsDigest(commitment: WeightCommitment): Digest {
  return taggedDigest(
    'fxt-weights/1',
    concatBytes(
      exactBytes('root', commitment.root),
      exactBytes('ood', commitment.ood),
      exactBytes('layoutDigest', commitment.layoutDigest),
    ),
  );
}
