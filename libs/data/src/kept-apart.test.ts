import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { encodeWith, importData, keptApart, openSource } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'data-apart-'));
afterAll(() => rmSync(folder, { recursive: true }));
const seed = `0x${'5a'.repeat(32)}`;

it('names the rows of a validation set, of those that have a label', async () => {
  const path = join(folder, 'rows.csv');
  const lines = Array.from({ length: 60 }, (_, i) => `${i / 2},${i % 9 === 4 ? '' : i * 1.5}`);
  writeFileSync(path, ['x,y', ...lines, ''].join('\n'));
  const source = await openSource(path);
  const choices = { label: ['y'], task: 'real', missingLabel: 'drop' } as const;
  const request = { source, seed, choices, validation: 17, folder: join(folder, 'work') };
  const { header, validation, report } = await importData(request);
  const kept = keptApart(seed, report);
  expect(kept.length).toBe(report.rows);
  const found: string[] = [];
  let row = 0;
  for await (const { count, bytes } of encodeWith(header, source, 'records').batches()) {
    const size = bytes.length / count;
    for (let i = 0; i < count; i++) {
      if (kept[row++] === 1) found.push(Buffer.from(bytes.subarray(i * size, (i + 1) * size)).toString('hex'));
    }
  }
  const records: string[] = [];
  for await (const { count, bytes } of validation!.records()) {
    const size = validation!.recordBytes;
    for (let i = 0; i < count; i++) {
      records.push(Buffer.from(bytes.subarray(i * size, (i + 1) * size)).toString('hex'));
    }
  }
  expect(records).toHaveLength(17);
  expect(new Set(records).size).toBe(17);
  expect(found.toSorted()).toEqual(records.toSorted());
});
