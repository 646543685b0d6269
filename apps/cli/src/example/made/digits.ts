/** Digits of MNIST as PNG files, a folder for each class: what a user's own pictures look like. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseIdxImages, parseIdxLabels } from '#libs/step';
import { readIdx } from '../../demo/idx.js';
import { mnistFiles } from '../../demo/mnist.js';
import { greyPng } from './png.js';

const side = 28;
const testShare = 5;

export function makeDigits(folder: string, rows: number): void {
  const { trainImages, trainLabels, testImages, testLabels } = mnistFiles;
  write(join(folder, 'train'), trainImages, trainLabels, rows);
  write(join(folder, 'test'), testImages, testLabels, Math.ceil(rows / testShare));
}

function write(folder: string, imagesPath: string, labelsPath: string, count: number): void {
  const { data, pixels } = parseIdxImages(readIdx(imagesPath));
  const labels = parseIdxLabels(readIdx(labelsPath)).subarray(0, count);
  for (const label of new Set(labels)) mkdirSync(join(folder, String(label)), { recursive: true });
  labels.forEach((label, index) => {
    const name = `${String(index).padStart(5, '0')}.png`;
    const picture = data.subarray(index * pixels, (index + 1) * pixels);
    writeFileSync(join(folder, String(label), name), greyPng(picture, side));
  });
}
