/** The published vectors of `fxt/2` by the reference over BigInt (libs/step/SPEC.md §30). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseNetManifest, type NetExamples, type NetManifest } from '#libs/step';
import { mnistTraining, vectorFolder } from '#test/fxt2';
import { engineDigests, referenceDigests } from '#test/net-training';
import { vectorExamples, type VectorData } from '../../apps/cli/src/train/vector-data.js';

const folder = vectorFolder();
const names = ['v1-cnn-adamw', 'v2-mlp-adamw', 'v3-transformer', 'v4-resnet-momentum', 'v5-lora-exact'].concat([
  'v6-table-mse',
  'v7-rowformer',
  'v8-edges',
  'v9-bce-exact',
  'v10-maps',
]);

describe.skipIf(folder === undefined)('published vectors of fxt 2', () => {
  it.each(names)('%s: the reference reaches every digest', (name) => {
    const { m, examples, expected } = vector(name);
    expect(referenceDigests(m, examples, [0, 1, m.steps])).toEqual(expected);
  });

  it.each(names)('%s: the engine reaches every digest', async (name) => {
    const { m, examples, expected } = vector(name);
    expect(await engineDigests(m, examples, [0, 1, m.steps])).toEqual(expected);
  });
});

function vector(name: string): { m: NetManifest; examples: NetExamples; expected: readonly string[] } {
  const { data, ...json } = JSON.parse(readFileSync(join(folder!, `${name}.json`), 'utf8')) as { data: VectorData };
  const m = parseNetManifest(json);
  const expected = readFileSync(join(folder!, `${name}.digests`), 'utf8').match(/[0-9a-f]{64}/g)!;
  return { m, examples: vectorExamples(m, data, mnistTraining), expected };
}
