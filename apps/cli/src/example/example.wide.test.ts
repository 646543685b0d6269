/** Every example in its short form; that of Fashion-MNIST where its Debian package is installed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { hasFashion } from '../demo/fashion.js';
import { createProgram } from '../program.js';
import { exampleNamed, listExamples } from './description.js';
import { runExample } from './run.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-examples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const names = listExamples().flatMap(({ name }) => (name === 'fashion' && !hasFashion() ? [] : [name]));

it.runIf(!hasFashion())('SKIPPED: fashion, for no Fashion-MNIST is installed', ({ skip }) => skip());

/** Of the one that says it takes longest, for a machine half as fast: one of them has no shorter form. */
const timeout = 2_000 * Math.max(...names.map((name) => exampleNamed(name).seconds));

it.each(names)('%s runs in its short form and is as good as it says', { timeout }, async (name) => {
  const lines: string[] = [];
  const report = await runExample(exampleNamed(name), {
    ...{ isShort: true, out: relative('.', join(folder, name)), say: (line: string) => void lines.push(line) },
    execute: async (args) => (await createProgram(args)).parseAsync(['node', 'veritrain', ...args]),
  });
  expect(report.commands).toHaveLength(exampleNamed(name).commands.length);
  expect(report.commands.filter(({ result }) => result === null)).toEqual([]);
  expect(lines.filter((line) => line.startsWith('\n$ npx veritrain '))).toHaveLength(report.commands.length);
});
