import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { checkFormat, openOutput } from './output-file.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-output-'));
const at = (...names: string[]): string => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('is refused in the place of what is read, and anywhere below it', async () => {
  mkdirSync(at('pictures', 'dog', 'old'), { recursive: true });
  writeFileSync(at('labels.csv'), 'file,label\n');
  const sources = [at('pictures'), at('labels.csv')];
  for (const out of [at('pictures', 'a.csv'), at('pictures', 'dog', 'a.csv'), at('pictures', 'dog', 'old', 'a.csv')]) {
    await expect(openOutput(out, sources)).rejects.toMatchObject({ code: 'USAGE' });
  }
  await expect(openOutput(at('labels.csv'), sources)).rejects.toMatchObject({ code: 'USAGE' });
  expect(readFileSync(at('labels.csv'), 'utf8')).toBe('file,label\n');
  const beside = await openOutput(at('pictures.csv'), sources);
  await beside.write('row\n');
  await beside.keep();
  expect(readFileSync(at('pictures.csv'), 'utf8')).toBe('row\n');
});

it.skipIf(!existsSync('/dev/full'))('is named where there is no space for it, and nothing stays', async () => {
  mkdirSync(at('full'));
  symlinkSync('/dev/full', at('full', `out.csv.partial-${process.pid}`));
  const file = await openOutput(at('full', 'out.csv'), []);
  await expect(file.write('row\n')).rejects.toMatchObject({
    ...{ code: 'FILE_UNWRITABLE', detail: { got: 'no space left (ENOSPC)' } },
  });
  await file.drop();
  expect(readdirSync(at('full'))).toEqual([]);
});

it('is refused under the name of a format that is not written', () => {
  for (const name of ['a.xlsx', 'a.XLS', 'a.parquet', 'a.json', 'a.tsv']) {
    expect(() => checkFormat(name)).toThrow('USAGE');
  }
  for (const name of ['a.csv', 'a.jsonl', 'a.ndjson', 'a.txt', '/dev/stdout']) checkFormat(name);
});
