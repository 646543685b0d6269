import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readJson } from './files.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-files-'));
const at = (...names: string[]): string => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function actionOn(path: string): unknown {
  try {
    return readJson(path);
  } catch (error) {
    return (error as { detail: { action: string } }).detail.action;
  }
}

it.each([
  ['manifest.json', 'model init'],
  ['weights.bin', 'train'],
  ['header.json', 'copy all of it'],
  ['start.bin', 'model import'],
  ['dataset.json', 'dataset seal'],
  ['job.vtb', 'job result'],
  ['client.json', 'npm run serve'],
])('says of a missing %s what makes it', (name, words) => {
  expect(actionOn(at(name))).toContain(words);
});

it('names the files of a folder that was named in their place, and a file in the place of a folder', () => {
  mkdirSync(at('result'));
  expect(actionOn(at('result'))).toBe('name a file in it');
  for (const name of ['manifest.json', 'job.vtb']) writeFileSync(at('result', name), '{}');
  const [manifest, bundle] = [at('result', 'manifest.json'), at('result', 'job.vtb')];
  expect(actionOn(at('result'))).toBe(`name a file in it, such as ${manifest} or ${bundle}`);
  expect(actionOn(join(manifest, 'manifest.json'))).toBe(`check the path: ${manifest} is no folder`);
  expect(actionOn(at('other.json'))).toBe('check the path, and that you may read it');
});
