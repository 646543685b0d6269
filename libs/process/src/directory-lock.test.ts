/** One process at a time, whatever the one before has left. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { lockFile } from './directory-lock.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-lock-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, 'deep', 'work.lock');
const busy = 'DATA_DIRECTORY_IN_USE';

it('is held once, by this process or another, and again after it was given back', () => {
  const lock = lockFile(path);
  expect(() => lockFile(path)).toThrow(busy);
  const source = `import { lockFile } from ${JSON.stringify(new URL('./directory-lock.ts', import.meta.url).href)};
    lockFile(${JSON.stringify(path)}); process.kill(process.pid, 'SIGKILL');`;
  const flags = ['--conditions=source', '--import', '@oxc-node/core/register', '--input-type=module', '-e', source];
  expect(String(spawnSync(process.execPath, flags).stderr)).toContain(busy);
  lock.release();
  expect(existsSync(path)).toBe(false);
  expect(spawnSync(process.execPath, flags).signal).toBe('SIGKILL');
  expect(existsSync(path)).toBe(true);
  lockFile(path).release();
  expect(readdirSync(join(folder, 'deep'))).toEqual([]);
});

it('passes on from what names no process, or one whose id is another process now', () => {
  for (const left of ['', 'no number', '-1 1', '0 0', `${process.pid} 1`, '4194305 1']) {
    writeFileSync(path, left);
    lockFile(path).release();
  }
});

it('leaves a lock alone that another has by now', () => {
  const lock = lockFile(path);
  writeFileSync(path, 'of another');
  lock.release();
  expect(existsSync(path)).toBe(true);
});
