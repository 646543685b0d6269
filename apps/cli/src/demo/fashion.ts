/** Fashion-MNIST, which no package of npm ships: the files that Debian's has, or those of a folder that a user names. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from '#attestation/base';

const debian = '/usr/share/datasets/fashion-mnist';

/** @returns IDX files, compressed or not @throws ConfigurationError FASHION_MISSING */
export function fashionFiles() {
  const folder = process.env.VERITRAIN_FASHION_MNIST ?? debian;
  const path = (name: string): string => {
    const found = ['', '.gz'].map((end) => join(folder, `${name}-ubyte${end}`)).find((one) => existsSync(one));
    if (found !== undefined) return found;
    throw new ConfigurationError('FASHION_MISSING', {
      ...{ expected: `${name}-ubyte or ${name}-ubyte.gz in ${folder}`, got: 'no such file', rule: 'Fashion-MNIST' },
      action:
        'install the Debian package dataset-fashion-mnist, or name the folder of its files in VERITRAIN_FASHION_MNIST',
    });
  };
  return {
    trainImages: path('train-images-idx3'),
    trainLabels: path('train-labels-idx1'),
    testImages: path('t10k-images-idx3'),
    testLabels: path('t10k-labels-idx1'),
  };
}

/** Whether `fashionFiles` finds them. */
export function hasFashion(): boolean {
  try {
    fashionFiles();
    return true;
  } catch {
    return false;
  }
}
