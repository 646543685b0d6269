/** A disk that fills, or an end, while a model is written leaves the one in whose place it was to come, or the new one. */
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  type PathOrFileDescriptor,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { finishTogether, writeTogether } from '#libs/client/files';

/** Writing and renaming to a path that has this in it fails; after `steps` changes of the folder none comes any more. */
const full = vi.hoisted(() => ({ writing: '', renaming: '', back: '', steps: Infinity, flushed: [] as string[] }));
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const failing = (part: string, path: PathOrFileDescriptor): void => {
    if (part === '' || !String(path).includes(part)) return;
    throw Object.assign(new Error('no space'), { code: 'ENOSPC', path: String(path) });
  };
  const step = (): void => {
    if (--full.steps < 0) throw new Error('this process has ended');
  };
  return {
    ...fs,
    writeFileSync: (path: PathOrFileDescriptor, data: string, options?: { mode?: number; flush?: boolean }): void => {
      step();
      fs.writeFileSync(path, data.slice(0, data.length / 2), options);
      failing(full.writing, path);
      step();
      fs.writeFileSync(path, data, options);
      if (options?.flush === true) full.flushed.push(String(path));
    },
    renameSync: (from: string, to: string): void => {
      step();
      if (from.includes('.partial-')) failing(full.renaming, to);
      if (from.includes('.former-')) failing(full.back, to);
      if (from.includes('.partial-')) expect(full.flushed).toContain(from);
      fs.renameSync(from, to);
    },
    rmSync: (path: string, options: object): void => {
      if (String(path).includes('.partial-') || String(path).includes('.former-')) step();
      fs.rmSync(path, options);
    },
  };
});

const folder = mkdtempSync(join(tmpdir(), 'veritrain-full-disk-'));
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  Object.assign(full, { writing: '', renaming: '', back: '', steps: Infinity });
  for (const name of readdirSync(folder)) rmSync(at(name));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
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
const finish = (): void => finishTogether([at('manifest.json'), at('weights.bin')]);
const made = { 'manifest.json': 'manifest new', 'weights.bin': 'weights new' };

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
  expect(content()).toEqual(made);
});

it('what an end in between left goes with the next model', () => {
  write('former');
  writeFileSync(at('weights.bin.former-1'), 'weights of an end');
  writeFileSync(at('manifest.json.partial-1'), 'manifest of an end');
  write('new');
  expect(content()).toEqual(made);
});

it.each([true, false])('an end at any step leaves one of both whole (a former one: %s)', (isReplaced) => {
  const found = new Set<string>();
  for (let steps = 0; ; steps++) {
    for (const name of readdirSync(folder)) rmSync(at(name));
    if (isReplaced) write('former');
    if (isReplaced) writeTogether([[at('model.onnx'), 'export']]);
    const former = content();
    full.steps = steps;
    let isEnded = false;
    try {
      write('new', ...(isReplaced ? ['model.onnx'] : []));
    } catch {
      isEnded = true;
    }
    full.steps = Infinity;
    finish();
    const left = content();
    finish();
    expect(content()).toEqual(left);
    const names = Object.keys(left).filter((name) => !name.includes('.partial-'));
    const whole = Object.fromEntries(Object.entries(left).filter(([name]) => names.includes(name)));
    expect([former, made]).toContainEqual(whole);
    found.add(JSON.stringify(whole));
    if (!isEnded) break;
  }
  expect(found.size).toBe(2);
});

it('tells the first failure where putting back fails too, and loses neither', () => {
  write('former');
  Object.assign(full, { renaming: 'weights.bin', back: 'manifest.json' });
  expect(() => write('new')).toThrow(/can be written at .*weights\.bin/);
  Object.assign(full, { renaming: '', back: '' });
  finish();
  expect(content()).toEqual(made);
});

it('says what to rename where it cannot', () => {
  write('former');
  full.steps = 7;
  expect(() => write('new')).toThrow();
  expect(readdirSync(folder)).not.toContain('weights.bin');
  full.steps = 0;
  const from = (name: string): string => `rename ${name}.partial-${process.pid} to ${name}`;
  const action = expect.stringContaining(`${from('manifest.json')}, ${from('weights.bin')}, remove `) as string;
  expect(finish).toThrow(expect.objectContaining({ detail: expect.objectContaining({ action }) as object }));
});

it('waits for no process that is long over, and disturbs none that writes', () => {
  write('former');
  full.steps = 7;
  expect(() => write('new')).toThrow();
  full.steps = Infinity;
  const former = readdirSync(folder);
  const rename = (by: number): void => {
    for (const name of readdirSync(folder)) {
      const to = name.replace(/\d+$/, String(by));
      writeFileSync(at(to), readFileSync(at(name)));
      if (to !== name) rmSync(at(name));
    }
  };
  rename(process.ppid);
  expect(finish).toThrow(expect.objectContaining({ code: 'FILE_UNREADABLE' }));
  rename(process.pid);
  expect(readdirSync(folder)).toEqual(former);
  finish();
  expect(content()).toEqual(made);
});

it('gives nobody leave who had none', () => {
  write('former');
  chmodSync(at('weights.bin'), 0o600);
  write('new');
  expect(statSync(at('weights.bin')).mode & 0o777).toBe(0o600);
});
