/** Two chained Groth16 proofs of a small job from files, under a development key. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { profileManifest } from '#libs/step';

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';

export const groth16Manifest = profileManifest('fx1s', {
  ...{ dims: [2, 2, 2], batch: 2, e: 4, loss: 'mse', steps: 64, seed },
});

/** What the prover is asked for; sixteen made-up records. */
export function smallGroth16Request(): object {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-groth16-'));
  const idx = (name: string, bytes: readonly number[], ...header: number[]): string => {
    const path = join(folder, name);
    const words = Buffer.alloc(4 * header.length);
    header.forEach((word, i) => words.writeUInt32BE(word, 4 * i));
    writeFileSync(path, Buffer.concat([words, Buffer.from(bytes)]));
    return path;
  };
  const pixels = Array.from({ length: 32 }, (_, i) => (i * 73) & 255);
  const classes = Array.from({ length: 16 }, (_, i) => (i >> 1) & 1);
  return {
    ...{ manifest: groth16Manifest, from: 3, steps: 2, backend: 'groth16' },
    images: idx('images', pixels, 0x803, 16, 1, 2),
    labels: idx('labels', classes, 0x801, 16),
  };
}
