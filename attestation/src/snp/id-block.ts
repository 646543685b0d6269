/**
 * ID block and its authentication page (AMD 56860, ID_BLOCK and ID_AUTH_INFO). The firmware launches only what the block
 * describes and the ID key signed, so a pinned ID key digest with a minimum GUEST_SVN can stand for a list of images.
 */
import { sha384 } from '@noble/hashes/sha2.js';
import { concatBytes, copyOf, fromHex, isZero, toHex, uintBe, uintLe } from '../base/bytes.js';
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
/** Between and behind the fields of the authentication page. */
const reserved = [
  [0x008, 0x040],
  [0x644, 0x680],
  [0xc84, 0x1000],
] as const;
/** Fields of the author: zero where there is none. */
const authorFields = [offsets.keySignature, 0xc84] as const;

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
  const authorAlgorithm = uintLe(auth, offsets.authorAlgorithm, 4);
  const authored = authorAlgorithm === 1n;
  const zeros = authored ? reserved : [...reserved, authorFields];
  if (authorAlgorithm > 1n || !zeros.every(([from, to]) => isZero(auth.subarray(from, to))))
    refuse('SNP_ID_BLOCK', 'author algorithm 0 or 1, zeros in what is not used', 'others');
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

/** A P-384 key of whoever signs launches: its public point, and how it signs. */
export interface LaunchKey {
  /** x and y, 48 bytes each, big-endian. */
  readonly point: Uint8Array;
  /** ECDSA with SHA-384: r and s, 48 bytes each, big-endian. */
  sign(message: Uint8Array): Promise<Uint8Array> | Uint8Array;
}

export type IdBlockValues = Pick<IdBlock, 'measurement' | 'familyId' | 'imageId' | 'guestSvn' | 'policy'>;

/**
 * The pages that a hypervisor hands to the firmware with a launch.
 * @param authorKey  signs the ID key, so that ID keys can be replaced under one author
 * @returns block 96 bytes, auth 4096 bytes
 * @throws Rejection SNP_ID_BLOCK for values of another size
 */
export async function makeIdBlock(
  values: IdBlockValues,
  idKey: LaunchKey,
  authorKey?: LaunchKey,
): Promise<{ block: Uint8Array; auth: Uint8Array }> {
  const { measurement, familyId, imageId, guestSvn, policy } = values;
  const parts = [fromHex(measurement), fromHex(familyId), fromHex(imageId)];
  const le = (value: bigint | number, bytes: number): Uint8Array => uintBe(value, bytes).reverse();
  const block = concatBytes(...parts, le(1, 4), le(guestSvn, 4), le(policy, 8));
  if (block.length !== idBlockBytes || parts[0]!.length !== 48 || parts[1]!.length !== 16)
    refuse('SNP_ID_BLOCK', 'a digest of 48 bytes, ids of 16', `${parts.map(({ length }) => length).join(', ')} bytes`);
  const auth = new Uint8Array(idAuthBytes);
  const idKeyPage = keyPage(idKey.point);
  auth[offsets.idAlgorithm] = 1;
  auth.set(idKeyPage, offsets.idKey);
  auth.set(fieldsOf(await idKey.sign(block)), offsets.blockSignature);
  if (authorKey !== undefined) {
    auth[offsets.authorAlgorithm] = 1;
    auth.set(keyPage(authorKey.point), offsets.authorKey);
    auth.set(fieldsOf(await authorKey.sign(idKeyPage)), offsets.keySignature);
  }
  return { block, auth };
}

/** SHA-384 of a key as the report shows it. */
export function launchKeyDigest(point: Uint8Array): string {
  return toHex(sha384(keyPage(point)));
}

function keyPage(point: Uint8Array): Uint8Array {
  const page = new Uint8Array(keyBytes);
  page[0] = 2;
  page.set(fieldsOf(point), 4);
  return page;
}

/** Two numbers of 48 bytes, little-endian in fields of 72. */
function fieldsOf(pair: Uint8Array): Uint8Array {
  if (pair.length !== 96) refuse('SNP_ID_BLOCK', 'two numbers of 48 bytes', `${pair.length} bytes`);
  const fields = new Uint8Array(144);
  fields.set(copyOf(pair, 0, 48).reverse(), 0);
  fields.set(copyOf(pair, 48, 96).reverse(), 72);
  return fields;
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'AMD 56860 ID_BLOCK, ID_AUTH_INFO; attestation/SPEC.md §5.8' });
}
