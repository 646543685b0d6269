/** Every example in its short form. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createProgram } from '../program.js';
import { exampleNamed, listExamples } from './description.js';
import { runExample } from './run.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-examples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each(listExamples().map(({ name }) => name))('%s runs in its short form and is as good as it says', async (name) => {
  const lines: string[] = [];
  const report = await runExample(exampleNamed(name), {
    ...{ isShort: true, out: join(folder, name), say: (line: string) => void lines.push(line) },
    execute: (args) => createProgram().parseAsync(['node', 'veritrain', ...args]),
  });
  expect(report.commands).toHaveLength(exampleNamed(name).commands.length);
  expect(report.commands.filter(({ result }) => result === null)).toEqual([]);
  expect(lines.filter((line) => line.startsWith('\n$ npx veritrain '))).toHaveLength(report.commands.length);
});
