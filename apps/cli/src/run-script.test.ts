/** The scripts of package.json, in a clone whose programs are made up: what a signal to them leaves behind. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let clone: string;
const write = (path: string, content: string): void => {
  mkdirSync(dirname(join(clone, path)), { recursive: true });
  writeFileSync(join(clone, path), content);
};
const main = 'dist/apps/cli/src/main.js';
const compiler = 'node_modules/typescript/bin/tsc';

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'veritrain-run-'));
  cpSync(join(import.meta.dirname, '../bin/run.mjs'), join(clone, 'apps/cli/bin/run.mjs'));
  for (const folder of ['attestation', 'contracts', 'enclave', 'libs', 'migrations', 'test'])
    mkdirSync(join(clone, folder));
  const files = ['tsconfig.json', 'tsconfig.build.json', 'package.json', 'package-lock.json'];
  files.forEach((file) => write(file, '{}'));
  write('node_modules/.veritrain-lock', createHash('sha256').update('{}').digest('hex'));
  const programs = [compiler, 'node_modules/vite/bin/vite.js', 'dist/libs/persistence/src/build-template.js', main];
  programs.forEach((program) => write(program, ''));
});
afterEach(() => rmSync(clone, { recursive: true, force: true }));

/** Says its process id, and works for 200 ms more after a signal. */
const orderly = (status: number): string => `
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => { console.error(signal); setTimeout(() => { console.error('stopped'); process.exit(${status}); }, 200); });
  console.error('pid', process.pid);
  setInterval(() => undefined, 1000);`;

async function signalled(signal: NodeJS.Signals) {
  const child = spawn(process.execPath, [join(clone, 'apps/cli/bin/run.mjs'), 'up'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const whole = text(child.stderr);
  const pid = await new Promise<number>((found) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      const [, id] = /^pid (\d+)$/m.exec((said += chunk.toString())) ?? [];
      if (id !== undefined) found(Number(id));
    });
  });
  child.kill(signal);
  const [status] = (await once(child, 'exit')) as [number | null];
  expect(() => process.kill(pid, 0)).toThrow(expect.objectContaining({ code: 'ESRCH' }));
  return { status, said: await whole };
}

describe('a signal to the script', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s reaches the program once; its status is the script’s', async (signal) => {
    write(main, orderly(3));
    const { status, said } = await signalled(signal);
    expect(status).toBe(3);
    expect(said.split('\n').slice(-3)).toEqual([signal, 'stopped', '']);
  });

  it('a program that the signal ends: 128 and the number of the signal', async () => {
    write(main, `console.error('pid', process.pid); setInterval(() => undefined, 1000);`);
    expect(await signalled('SIGTERM')).toMatchObject({ status: 143 });
  });

  it('in mid-build: the compiler is ended, and nothing is run', async () => {
    write(compiler, orderly(1));
    write(main, `console.error('ran');`);
    const { status, said } = await signalled('SIGTERM');
    expect(status).toBe(1);
    expect(said).toMatch(/stopped\nveritrain: building failed; the lines above say why\.\n$/);
  });
});

it('a tool that cannot be started is named', async () => {
  write('node_modules/.veritrain-lock', 'another');
  const child = spawn(process.execPath, [join(clone, 'apps/cli/bin/run.mjs'), 'up'], {
    ...{ stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: clone } },
  });
  const status = once(child, 'exit');
  const said = await text(child.stderr);
  expect(await status).toEqual([1, null]);
  expect(said).toMatch(/^veritrain: installing .*\nveritrain: npm does not start: .*ENOENT\n.*failed/);
});
