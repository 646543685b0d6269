import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startProcess, type StartedProcess } from '#libs/process';
import { watchPrograms } from './watch-programs.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-watch-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('starts again what loads a changed file, and nothing else', async () => {
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write('word.mjs', `export const word = 'first';`);
  write('one.mjs', `import { word } from './word.mjs'; console.log(word); setInterval(() => 0, 1000);`);
  write('two.mjs', `console.log('up'); setInterval(() => 0, 1000);`);
  const processes = new Map<string, StartedProcess>();
  const start = async (name: string): Promise<string> => {
    const started = startProcess([process.execPath, join(folder, `${name}.mjs`)]);
    processes.set(name, started);
    return String(await once(started.child.stdout!, 'data'));
  };
  const changes: (readonly [string, readonly string[]])[] = [];
  const broken: string[] = [];
  const programs = ['one', 'two'].map((name) => ({ name, mains: [`${name}.mjs`] }));
  for (const { name } of programs) await start(name);
  const [first, second] = [processes.get('one')!, processes.get('two')!];
  const watch = await watchPrograms(
    programs,
    folder,
    async (name, files) => {
      await processes.get(name)!.kill();
      changes.push([await start(name), files]);
    },
    (name) => void broken.push(name),
  );
  try {
    write('word.mjs', `export const word = ;`);
    await expect.poll(() => broken).toEqual(['one']);
    expect(first.isRunning()).toBe(true);
    write('word.mjs', `export const word = 'second';`);
    await expect.poll(() => changes).toEqual([['second\n', ['word.mjs']]]);
    expect(first.isRunning()).toBe(false);
    expect(processes.get('one')!.isRunning()).toBe(true);
    expect(second.isRunning()).toBe(true);
    expect(processes.get('two')).toBe(second);
  } finally {
    await watch.stop();
    await Promise.all([...processes.values()].map(({ kill }) => kill()));
  }
});
