/** A disk that fills, or an end, while a model is written leaves the one in whose place it was to come, or the new one. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
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
      if (from.includes('.new-')) failing(full.renaming, to);
      if (from.includes('.former-')) failing(full.back, to);
      if (from.includes('.new-')) expect(full.flushed).toContain(from);
      fs.renameSync(from, to);
    },
    rmSync: (path: string, options: object): void => {
      if (String(path).includes('.new-') || String(path).includes('.former-')) step();
      fs.rmSync(path, options);
    },
  };
});

const folder = mkdtempSync(join(tmpdir(), 'veritrain-full-disk-'));
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  Object.assign(full, { writing: '', renaming: '', back: '', steps: Infinity });
  for (const name of readdirSync(folder)) rmSync(at(name), { recursive: true });
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
const finishNow = (): void => finishTogether([at('manifest.json'), at('weights.bin')], [at('model.onnx')]);
/** Of an end some time ago. */
const finish = (): void => {
  utimesSync(folder, 0, 0);
  finishNow();
};
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
  writeFileSync(at('manifest.json.new-1-01234567'), 'manifest of an end');
  writeFileSync(at('weights.bin.partial-1'), 'weights of');
  for (const name of ['manifest.json.new-1-01234567', 'weights.bin.partial-1']) utimesSync(at(name), 0, 0);
  finish();
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
    const names = Object.keys(left).filter((name) => !name.includes('.new-'));
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
  full.steps = 5;
  expect(() => write('new')).toThrow();
  expect(readdirSync(folder)).not.toContain('weights.bin');
  full.steps = 0;
  const from = (name: string): string => `rename ${name}\\.new-${process.pid}-[0-9a-f]{8} to ${name}`;
  const words = new RegExp(`${from('manifest.json')}, ${from('weights.bin')}, remove `);
  const action = expect.stringMatching(words) as string;
  expect(finish).toThrow(expect.objectContaining({ detail: expect.objectContaining({ action }) as object }));
});

/** A write that ended when the weights had left their place, as if by another process. */
function brokenOff(by: string): void {
  full.steps = 5;
  expect(() => write('new')).toThrow();
  full.steps = Infinity;
  for (const name of readdirSync(folder)) {
    const to = name.replace(/\d+-[0-9a-f]{8}$/, by);
    writeFileSync(at(to), readFileSync(at(name)));
    if (to !== name) rmSync(at(name));
    full.flushed.push(at(to));
  }
}

it('waits for no process that is long over, and disturbs none that writes', () => {
  const waiting = vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out');
  for (const by of [`${process.ppid}-01234567`, `${process.ppid}`, `${process.pid}-01234567`, '999999999-01234567']) {
    write('former');
    brokenOff(by);
    const former = readdirSync(folder);
    expect(finishNow).toThrow(expect.objectContaining({ code: 'FILE_UNREADABLE' }));
    expect(waiting).toHaveBeenCalled();
    waiting.mockClear();
    expect(readdirSync(folder)).toEqual(former);
    finish();
    expect(content()).toEqual(made);
    expect(waiting).not.toHaveBeenCalled();
  }
  waiting.mockRestore();
});

it('takes up a write as soon as it is over', () => {
  write('former');
  brokenOff('999999999-01234567');
  finishNow();
  expect(content()).toEqual(made);
});

it('leaves alone what another command writes at the time', () => {
  write('former');
  const others = Object.fromEntries(
    ['manifest.json', 'weights.bin'].map((name) => [`${name}.new-${process.ppid}-01234567`, `${name} of another`]),
  );
  for (const [name, text] of Object.entries(others)) writeFileSync(at(name), text);
  write('new');
  expect(content()).toEqual({ ...made, ...others });
});

it('takes nothing for a part of a model that was called so by somebody else', () => {
  write('former');
  const own = { 'notes.txt': 'a', 'notes.txt.former-2024': 'b', 'log.former-7': 'c', 'manifest.json.partial-7': '{' };
  for (const [name, text] of Object.entries(own)) writeFileSync(at(name), text);
  mkdirSync(at('weights.bin.former-8'));
  finish();
  rmSync(at('weights.bin.former-8'), { recursive: true });
  expect(content()).toEqual({ 'manifest.json': 'manifest former', 'weights.bin': 'weights former', ...own });
  rmSync(at('weights.bin'));
  finish();
  expect(content()).toEqual({ 'manifest.json': 'manifest former', ...own });
});

it('takes no half of a single file for a whole one', () => {
  writeFileSync(at('weights.bin.partial-999999999'), 'weights of');
  finish();
  expect(readdirSync(folder)).toEqual(['weights.bin.partial-999999999']);
});

it('never puts a former file over one that came after it', () => {
  write('former');
  brokenOff('999999999-01234567');
  for (const name of ['manifest.json', 'weights.bin']) writeFileSync(at(name), `${name} of another`);
  finish();
  expect(content()).toEqual({ 'manifest.json': 'manifest.json of another', 'weights.bin': 'weights.bin of another' });
});

it('reads a whole model where what an end left beside it cannot be removed', () => {
  write('former');
  writeFileSync(at('weights.bin.former-999999999-01234567'), 'weights of an end');
  full.steps = 0;
  expect(finish).not.toThrow();
});

it('gives nobody leave who had none', () => {
  write('former');
  chmodSync(at('weights.bin'), 0o600);
  write('new');
  expect(statSync(at('weights.bin')).mode & 0o777).toBe(0o600);
});
