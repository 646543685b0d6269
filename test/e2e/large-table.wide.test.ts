/**
 * A table of 500 MB, planned and sealed within 256 MiB of all processes together; by name one of 5 GB within 1 GiB:
 * `VERITRAIN_TABLE_BYTES=5e9`.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { isNetDataset, readSealedDataset } from '#attestation/records';
import { parseDataHeader } from '#libs/step';
import { runCli } from '#test/cli-process';
import { kinds, writeLargeTable } from '#test/large-table';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-table-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tableBytes = Number(process.env['VERITRAIN_TABLE_BYTES'] ?? 500e6);
const memoryBytesMax = (tableBytes > 500e6 ? 1024 : 256) * 2 ** 20;

/** Stages that progress was told of, in order. */
function stagesOf(stderr: string): string[] {
  const told = stderr.split('\n').flatMap((line) => {
    const [, stage] = /^\{"progress":\{"stage":"(\w+)"/.exec(line) ?? [];
    return stage === undefined ? [] : [stage];
  });
  return [...new Set(told)];
}

it('is planned and sealed in bounded memory, and says how far it is', { timeout: 7_200_000 }, async () => {
  const data = join(folder, 'table.csv');
  const rows = await writeLargeTable(data, tableBytes);
  const plan = join(folder, 'plan');
  const planned = await runCli(['model', 'init', '--from', data, '--target', 'kind', '--out', plan]);
  expect(planned, planned.stderr).toMatchObject({ code: 0, json: { plan: { task: 'classify' } } });
  expect(stagesOf(planned.stderr)).toEqual(['look', 'read', 'measure', 'encode']);
  const manifest = join(plan, 'manifest.json');
  const out = join(folder, 'sealed');
  const sealed = await runCli([
    ...['dataset', 'seal', '--manifest', manifest, '--data', data],
    ...['--out', out, '--key', join(folder, 'key.json')],
  ]);
  expect(sealed, sealed.stderr).toMatchObject({ code: 0 });
  expect(stagesOf(sealed.stderr)).toEqual(['look', 'read', 'measure', 'encode', 'shuffle', 'commit', 'seal']);
  const dataset = readSealedDataset(readFileSync(join(out, 'dataset.json')));
  if (!isNetDataset(dataset)) throw new Error('a data set of layout 1');
  const header = parseDataHeader(dataset.header);
  expect(header.split).toEqual({ train: rows - Math.round(rows / 10), validation: Math.round(rows / 10) });
  expect(header.label).toMatchObject({ kind: 'class', classes: kinds.length });
  console.warn(`peaks: ${planned.peakBytes} and ${sealed.peakBytes} bytes`);
  for (const { peakBytes } of [planned, sealed]) expect(peakBytes).toBeLessThan(memoryBytesMax);
  expect(readdirSync(folder).toSorted()).toEqual(['key.json', 'plan', 'sealed', 'table.csv']);
});
