/** The first pictures of a set of IDX files, under the names that its package has: enough for a run of seconds. */
import { basename, join } from 'node:path';
import { writeWhole } from '#libs/client/files';
import { fashionFiles } from '../../demo/fashion.js';
import { readIdx } from '../../demo/idx.js';
import { mnistFiles } from '../../demo/mnist.js';

const testShare = 5;

export const cutMnist = (folder: string, rows: number): void => cut(mnistFiles, folder, rows);

/** @throws ConfigurationError FASHION_MISSING */
export const cutFashion = (folder: string, rows: number): void => cut(fashionFiles(), folder, rows);

function cut({ trainImages, trainLabels, testImages, testLabels }: typeof mnistFiles, folder: string, rows: number) {
  const tested = Math.ceil(rows / testShare);
  for (const [path, count] of [
    [trainImages, rows],
    [trainLabels, rows],
    [testImages, tested],
    [testLabels, tested],
  ] as const) {
    writeWhole(join(folder, basename(path, '.gz')), firstOf(readIdx(path), count));
  }
}

/** An IDX file of its first items: a head with the number of axes in its fourth byte, and of four bytes an axis. */
function firstOf(idx: Uint8Array, count: number): Uint8Array {
  const head = 4 + 4 * idx[3]!;
  const of = new DataView(idx.buffer, idx.byteOffset).getUint32(4);
  const itemBytes = (idx.length - head) / of;
  const first = idx.slice(0, head + Math.min(count, of) * itemBytes);
  new DataView(first.buffer).setUint32(4, Math.min(count, of));
  return first;
}
