import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SITE } from './sites.js';

/** Every draw of the verifier: file, site. A new or moved challenge must be entered here and in libs/zk/SPEC.md §5. */
const inventory: Readonly<Record<string, string>> = {
  oodS: 'flow/flow.ts',
  alpha: 'flow/lookups.ts',
  beta: 'flow/lookups.ts',
  gkrLambda: 'flow/lookups.ts flow/lookups.ts',
  gkrMu: 'flow/lookups.ts',
  maskedRound: 'masked-protocol.ts',
  gammaProducts: 'flow/products.ts',
  gammaMatmuls: 'flow/matmuls.ts',
  gammaClasses: 'flow/matmuls.ts',
  gammaUpdates: 'flow/updates.ts',
  tau: 'flow/pads.ts',
  eta: 'flow/pads.ts',
  rowRound: 'opening.ts',
  delta: 'opening.ts',
  oodLevel: 'opening.ts',
  queries0: 'opening.ts',
  beta1: 'opening.ts',
  levelRowRound: 'opening.ts opening.ts',
  queriesLevel: 'opening.ts',
  betaLevel: 'opening.ts',
  columnRound: 'opening.ts',
};

const root = join(import.meta.dirname, '../verifier');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
);
const drawing = /(?:challenge|indices|#rounds)\(\s*'(\w+)'/g;

describe('transcript inventory (libs/zk/SPEC.md §5)', () => {
  it('names every site where the verifier draws, and no other', () => {
    const found: Record<string, string> = {};
    for (const file of files.sort()) {
      for (const [, site] of readFileSync(join(root, file), 'utf8').matchAll(drawing)) {
        found[site!] = found[site!] ? `${found[site!]} ${file}` : file;
      }
    }
    expect(found).toEqual(inventory);
    expect([...Object.keys(inventory), 'pow'].sort()).toEqual(Object.keys(SITE).sort());
  });
});
