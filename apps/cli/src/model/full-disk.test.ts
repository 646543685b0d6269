/** A disk that fills while a model is written leaves the one in whose place it was to come. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, type PathOrFileDescriptor } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { writeTogether } from '#libs/client/files';

/** Writing and renaming to a path that has this in it fails. */
const full = vi.hoisted(() => ({ writing: '', renaming: '' }));
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const failing = (part: string, path: PathOrFileDescriptor): void => {
    if (part === '' || !String(path).includes(part)) return;
    throw Object.assign(new Error('no space'), { code: 'ENOSPC', path: String(path) });
  };
  return {
    ...fs,
    writeFileSync: (path: PathOrFileDescriptor, data: string): void => {
      fs.writeFileSync(path, data.slice(0, data.length / 2));
      failing(full.writing, path);
      fs.writeFileSync(path, data);
    },
    renameSync: (from: string, to: string): void => {
      if (from.includes('.partial-')) failing(full.renaming, to);
      fs.renameSync(from, to);
    },
  };
});

const folder = mkdtempSync(join(tmpdir(), 'veritrain-full-disk-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const content = (): object =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(at(name), 'utf8')]));
const write = (text: string, ...gone: string[]): void =>
  writeTogether(
    [
      [at('manifest.json'), `manifest ${text}`],
      [at('weights.bin'), `weights ${text}`],
    ],
    gone.map(at),
  );

it.each(['manifest.json', 'weights.bin'])('in the middle of %s, and before it takes its place', (name) => {
  write('former');
  writeTogether([[at('model.onnx'), 'export']]);
  const former = content();
  for (const [what, value] of [
    ['writing', name],
    ['renaming', name],
  ] as const) {
    full[what] = value;
    expect(() => write('new', 'model.onnx')).toThrow(expect.objectContaining({ code: 'FILE_UNWRITABLE' }));
    full[what] = '';
    expect(content()).toEqual(former);
  }
  write('new', 'model.onnx');
  expect(content()).toEqual({ 'manifest.json': 'manifest new', 'weights.bin': 'weights new' });
});

it('what an end in between left goes with the next model', () => {
  write('former');
  writeFileSync(at('weights.bin.former-1'), 'weights of an end');
  writeFileSync(at('manifest.json.partial-1'), 'manifest of an end');
  write('new');
  expect(content()).toEqual({ 'manifest.json': 'manifest new', 'weights.bin': 'weights new' });
});
