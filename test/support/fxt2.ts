/** Where the vectors of `fxt/2` are, and the images that some of them train on. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseIdxImages, parseIdxLabels } from '#libs/step';
import { mnistFiles } from '../../apps/cli/src/demo/mnist.js';

/** Undefined, and said so, where the samples are not at hand. */
export function vectorFolder(): string | undefined {
  const folder = join(process.env.VERITRAIN_VECTORS ?? '../shared/vectors', 'fxt2');
  if (existsSync(folder)) return folder;
  console.warn(`skipped: no vectors of fxt 2 in ${folder}`);
  return undefined;
}

export function mnistTraining(): { data: Uint8Array; labels: Uint8Array } {
  return {
    data: parseIdxImages(readFileSync(mnistFiles.trainImages)).data,
    labels: parseIdxLabels(readFileSync(mnistFiles.trainLabels)),
  };
}
