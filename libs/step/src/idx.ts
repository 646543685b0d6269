/** Strict parser of IDX files, the format of MNIST: `00 00 08 rank`, u32be sizes, one byte per element, nothing after. */
import { refuse } from './errors.js';
import * as limits from './limits.js';

export interface IdxImages {
  readonly count: number;
  /** Bytes of one image: the product of the sizes after the first. */
  readonly pixels: number;
  /** count·pixels bytes, image by image; a view of the input. */
  readonly data: Uint8Array;
}

/** Where the images of a file are: image i is the `pixels` bytes from `offset + i·pixels` on. */
interface IdxImagesHead extends Pick<IdxImages, 'count' | 'pixels'> {
  readonly offset: number;
}

/** Bytes from the start of a file of images that `parseIdxImagesHead` needs. */
export const idxImagesHeadBytes = 16;

/** @throws Rejection IDX_OVERSIZE, IDX_TRUNCATED, IDX_MAGIC, IDX_SIZE, IDX_LENGTH */
export function parseIdxImages(bytes: Uint8Array): IdxImages {
  const { count, pixels, offset } = parseIdxImagesHead(bytes, bytes.length);
  return { count, pixels, data: bytes.subarray(offset) };
}

/**
 * @param head       the file's first bytes, at least `idxImagesHeadBytes`
 * @param fileBytes  length of the whole file
 * @throws Rejection IDX_OVERSIZE, IDX_TRUNCATED, IDX_MAGIC, IDX_SIZE, IDX_LENGTH
 */
export function parseIdxImagesHead(head: Uint8Array, fileBytes: number): IdxImagesHead {
  const { sizes, offset } = parseIdx(head, 3, fileBytes);
  const pixels = sizes[1]! * sizes[2]!;
  if (pixels < 1 || pixels > limits.widthMax) refuse('IDX_SIZE', `1 to ${limits.widthMax} pixels`, pixels, rule);
  checkLength(fileBytes - offset, sizes[0]! * pixels);
  return { count: sizes[0]!, pixels, offset };
}

/**
 * @returns one label per record; a view of the input
 * @throws  Rejection IDX_OVERSIZE, IDX_TRUNCATED, IDX_MAGIC, IDX_SIZE, IDX_LENGTH
 */
export function parseIdxLabels(bytes: Uint8Array): Uint8Array {
  const { sizes, offset } = parseIdx(bytes, 1, bytes.length);
  checkLength(bytes.length - offset, sizes[0]!);
  return bytes.subarray(offset);
}

/** @throws Rejection LABEL_RANGE naming the first record whose label is not a class */
export function checkLabels(labels: Uint8Array, classes: number): void {
  const index = labels.findIndex((label) => label >= classes);
  if (index >= 0) {
    refuse(
      'LABEL_RANGE',
      `labels in 0..${classes - 1}`,
      `${labels[index]} at record ${index}`,
      'libs/step/SPEC.md §11',
    );
  }
}

function parseIdx(bytes: Uint8Array, rank: number, fileBytes: number): { sizes: number[]; offset: number } {
  if (fileBytes > limits.idxBytesMax) {
    refuse('IDX_OVERSIZE', `at most ${limits.idxBytesMax} bytes`, fileBytes, rule);
  }
  const headerBytes = 4 + 4 * rank;
  if (bytes.length < headerBytes) refuse('IDX_TRUNCATED', `a header of ${headerBytes} bytes`, bytes.length, rule);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = view.getUint32(0);
  if (magic !== 0x0800 + rank) refuse('IDX_MAGIC', `unsigned bytes of rank ${rank}`, `0x${magic.toString(16)}`, rule);
  const sizes = Array.from({ length: rank }, (_, i) => view.getUint32(4 + 4 * i));
  if (sizes[0]! < 1 || sizes[0]! > limits.recordsMax) {
    refuse('IDX_SIZE', `1 to ${limits.recordsMax} records`, sizes[0], rule);
  }
  return { sizes, offset: headerBytes };
}

function checkLength(length: number, expected: number): void {
  if (length !== expected) refuse('IDX_LENGTH', `${expected} bytes after the header`, length, rule);
}

const rule = 'IDX file format';
