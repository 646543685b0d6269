/**
 * Digests that a second implementation gave, which was written from the rules of `fxt/2` alone: random manifests that
 * between them have every op, loss and optimizer, as lines `{manifest, digests after 0, 1 and 3 steps}`.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseNetManifest, splitNetRecords } from '#libs/step';
import { mnistTraining } from '#test/fxt2';
import { engineDigests, referenceDigests } from '#test/net-training';
import { joinNetRecords } from '../../apps/cli/src/train/net-records.js';
import { vectorExamples, type VectorData } from '../../apps/cli/src/train/vector-data.js';
import { netOps } from '../../libs/step/src/net/ops/index.js';

interface Line {
  readonly manifest: { readonly data: VectorData };
  readonly digests: readonly string[];
}

const lines = readFileSync(new URL('independent.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Line);
const at = [0, 1, 3];

function read({ manifest: { data, ...json } }: Line) {
  const m = parseNetManifest(json);
  return { m, examples: splitNetRecords(m, joinNetRecords(m, vectorExamples(m, data, mnistTraining))) };
}

describe('digests of a second implementation', () => {
  it.each(lines.map((line, index) => [index, line] as const))(
    'manifest %i: the engine reaches them',
    async (_, line) => {
      const { m, examples } = read(line);
      expect(await engineDigests(m, examples, at)).toEqual(line.digests);
      expect(await engineDigests(m, examples, at, { hasBytes: false, hasQuick: false })).toEqual(line.digests);
    },
  );

  it.each(lines.map((line, index) => [index, line] as const))('manifest %i: the reference reaches them', (_, line) => {
    const { m, examples } = read(line);
    expect(referenceDigests(m, examples, at)).toEqual(line.digests);
  });

  it('have every op, loss and optimizer', () => {
    const nets = lines.map((line) => read(line).m);
    const ops = new Set(nets.flatMap(({ layers }) => layers.map(({ op }) => op)));
    expect(ops).toEqual(new Set(Object.keys(netOps)));
    const kinds = nets.map(({ loss, optimizer }) => [loss.kind, optimizer.kind].join());
    expect(new Set(kinds).size).toBe(9);
  });
});
