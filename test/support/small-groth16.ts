/** Two chained Groth16 proofs of a small job from files, under a development key. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { profileManifest } from '#libs/step';
import { writeIdx } from './idx-file.js';

const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';

export const groth16Manifest = profileManifest('fx1s', {
  ...{ dims: [2, 2, 2], batch: 2, e: 4, loss: 'mse', steps: 64, seed },
});

/** What the prover is asked for; sixteen made-up records. */
export function smallGroth16Request(): object {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-groth16-'));
  return {
    ...{ manifest: groth16Manifest, from: 3, steps: 2, backend: 'groth16' },
    images: writeIdx(join(folder, 'images'), [16, 1, 2], (i) => (i * 73) & 255),
    labels: writeIdx(join(folder, 'labels'), [16], (i) => (i >> 1) & 1),
  };
}
