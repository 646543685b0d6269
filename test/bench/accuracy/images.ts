/** IDX images as records. */
import { join } from 'node:path';
import { parseIdxImages, parseIdxLabels, shuffledIndices, type NetExamples } from '#libs/step';
import { readPlain } from './files.js';

/** As a data owner shuffles them by the manifest's seed. */
export function trainImages(folder: string, seed: string): NetExamples {
  const { count, features, labels } = read(folder, 'train');
  const width = features.length / count;
  const shuffled = new Uint8Array(features.length);
  const moved = new Int32Array(count);
  shuffledIndices(seed, count).forEach((from, to) => {
    shuffled.set(features.subarray(from * width, (from + 1) * width), to * width);
    moved[to] = labels[from]!;
  });
  return { count, features: shuffled, labels: moved };
}

export const testImages = (folder: string): NetExamples => read(folder, 't10k');

function read(folder: string, set: 'train' | 't10k') {
  const { count, data } = parseIdxImages(readPlain(join(folder, `${set}-images-idx3-ubyte`)));
  const labels = Int32Array.from(parseIdxLabels(readPlain(join(folder, `${set}-labels-idx1-ubyte`))));
  return { count, features: new Uint8Array(data), labels };
}
