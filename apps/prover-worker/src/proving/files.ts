/** Training files in the data owner's order. */
import { readFile, stat } from 'node:fs/promises';
import { ConfigurationError } from '#attestation/base';
import {
  idxBytesMax,
  orderExamples,
  parseIdxImages,
  parseIdxLabels,
  shuffledIndices,
  type Examples,
  type Manifest,
} from '#libs/step';

/**
 * @param order in which records of the files come: the data owner's, unless another is named
 * @throws ConfigurationError FILE_UNREADABLE, FILE_TOO_LARGE; Rejection IDX_*, LABEL_RANGE, RECORDS_*
 */
export async function loadExamples(
  m: Manifest,
  { images, labels }: { readonly images: string; readonly labels: string },
  order: (count: number) => Uint32Array = (count) => shuffledIndices(m.seed, count),
): Promise<Examples> {
  const [pixels, classes] = [parseIdxImages(await readLimited(images)), parseIdxLabels(await readLimited(labels))];
  return orderExamples(m, pixels, classes, order(classes.length));
}

/** @throws ConfigurationError FILE_UNREADABLE, FILE_TOO_LARGE */
export async function readLimited(path: string): Promise<Uint8Array> {
  const size = await stat(path).then(
    (found) => (found.isFile() ? found.size : -1),
    () => -1,
  );
  if (size >= 0 && size <= idxBytesMax) return readFile(path);
  throw new ConfigurationError(size < 0 ? 'FILE_UNREADABLE' : 'FILE_TOO_LARGE', {
    expected: `a readable file of at most ${idxBytesMax} bytes`,
    got: path,
    rule: 'prover worker, request',
  });
}
