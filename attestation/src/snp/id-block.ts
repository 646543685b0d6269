/**
 * ID block and its authentication page (AMD 56860, ID_BLOCK and ID_AUTH_INFO). The firmware launches only what the block
 * describes and the ID key signed, so a pinned ID key digest with a minimum GUEST_SVN can stand for a list of images.
 */
import { sha384 } from '@noble/hashes/sha2.js';
import { concatBytes, copyOf, isZero, toHex, uintLe } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { spkiOfPoint, verifySignature } from '../base/signatures.js';

export interface IdBlock {
  /** Launch digest, hexadecimal. */
  readonly measurement: string;
  readonly familyId: string;
  readonly imageId: string;
  readonly guestSvn: number;
  readonly policy: bigint;
  /** SHA-384 over the key structures: what the report carries. */
  readonly idKeyDigest: string;
  readonly authorKeyDigest?: string;
}

const idBlockBytes = 96;
const idAuthBytes = 4096;
const keyBytes = 0x404;
const offsets = {
  idAlgorithm: 0x000,
  authorAlgorithm: 0x004,
  blockSignature: 0x040,
  idKey: 0x240,
  keySignature: 0x680,
  authorKey: 0x880,
};

/**
 * Checks the signatures of both pages and gives back what the report must show.
 * @param block  96 bytes
 * @param auth   4096 bytes
 * @throws Rejection SNP_ID_BLOCK, SNP_ID_BLOCK_SIGNATURE
 */
export async function verifyIdBlock(block: Uint8Array, auth: Uint8Array): Promise<IdBlock> {
  if (block.length !== idBlockBytes || auth.length !== idAuthBytes)
    refuse('SNP_ID_BLOCK', '96 and 4096 bytes', `${block.length} and ${auth.length}`);
  if (uintLe(block, 80, 4) !== 1n || uintLe(auth, offsets.idAlgorithm, 4) !== 1n)
    refuse('SNP_ID_BLOCK', 'version 1, algorithm 1', 'others');
  const idKey = auth.subarray(offsets.idKey, offsets.idKey + keyBytes);
  await checkSigned(auth, offsets.blockSignature, idKey, block);
  const authorKey = auth.subarray(offsets.authorKey, offsets.authorKey + keyBytes);
  const authored = uintLe(auth, offsets.authorAlgorithm, 4) !== 0n;
  if (authored) await checkSigned(auth, offsets.keySignature, authorKey, idKey);
  return {
    measurement: toHex(block.subarray(0, 48)),
    familyId: toHex(block.subarray(48, 64)),
    imageId: toHex(block.subarray(64, 80)),
    guestSvn: Number(uintLe(block, 84, 4)),
    policy: uintLe(block, 88, 8),
    idKeyDigest: toHex(sha384(idKey)),
    ...(authored && { authorKeyDigest: toHex(sha384(authorKey)) }),
  };
}

async function checkSigned(auth: Uint8Array, at: number, key: Uint8Array, message: Uint8Array): Promise<void> {
  const half = (source: Uint8Array, offset: number): Uint8Array => copyOf(source, offset, offset + 48).reverse();
  const padding = [
    key.subarray(52, 76),
    key.subarray(124),
    auth.subarray(at + 48, at + 72),
    auth.subarray(at + 120, at + 512),
  ];
  if (uintLe(key, 0, 4) !== 2n || !padding.every(isZero))
    refuse('SNP_ID_BLOCK', 'a P-384 key, padding of zeros', 'others');
  const spki = spkiOfPoint('ecdsa-p384-sha384', concatBytes(half(key, 4), half(key, 76)));
  const signature = concatBytes(half(auth, at), half(auth, at + 72));
  try {
    await verifySignature('ecdsa-p384-sha384', spki, signature, message);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    refuse('SNP_ID_BLOCK_SIGNATURE', 'a signature by the key of the page', error.code);
  }
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'AMD 56860 ID_BLOCK, ID_AUTH_INFO; attestation/SPEC.md §5.8' });
}
