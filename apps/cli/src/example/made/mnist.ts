/** The first pictures of MNIST under the names that its package has: enough for a run of seconds. */
import { basename, join } from 'node:path';
import { readBytes, writeWhole } from '#libs/client';
import { mnistFiles } from '../../demo/mnist.js';

export const idxBytesMax = 64 * 1024 * 1024;
const testShare = 5;

export function cutMnist(folder: string, rows: number): void {
  const { trainImages, trainLabels, testImages, testLabels } = mnistFiles;
  const tested = Math.ceil(rows / testShare);
  for (const [path, count] of [
    [trainImages, rows],
    [trainLabels, rows],
    [testImages, tested],
    [testLabels, tested],
  ] as const) {
    writeWhole(join(folder, basename(path)), firstOf(readBytes(path, idxBytesMax), count));
  }
}

/** An IDX file of its first items: a head with the number of axes in its fourth byte, and of four bytes an axis. */
function firstOf(idx: Uint8Array, count: number): Uint8Array {
  const head = 4 + 4 * idx[3]!;
  const of = new DataView(idx.buffer, idx.byteOffset).getUint32(4);
  const itemBytes = (idx.length - head) / of;
  const cut = idx.slice(0, head + Math.min(count, of) * itemBytes);
  new DataView(cut.buffer).setUint32(4, Math.min(count, of));
  return cut;
}
