/** A loss of power cannot be had in a test: what the system is asked for, and in which order. */
import { mkdtempSync, type openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { writeWhole } from './write-whole.js';

const calls = vi.hoisted(() => [] as string[]);
const names = vi.hoisted(() => new Map<number, string>());
const refusal = vi.hoisted(() => ({ code: '' }));
vi.mock('node:fs', async (original) => {
  const real = await original<typeof import('node:fs')>();
  return {
    ...real,
    openSync(...of: Parameters<typeof openSync>) {
      const descriptor = real.openSync(...of);
      names.set(descriptor, String(of[0]));
      return descriptor;
    },
    writeFileSync(...of: Parameters<typeof real.writeFileSync>) {
      real.writeFileSync(...of);
      const isFlushed = typeof of[2] === 'object' && of[2]?.flush === true;
      calls.push(`${isFlushed ? 'write and flush' : 'write'} ${basename(String(of[0]))}`);
    },
    renameSync(...of: Parameters<typeof real.renameSync>) {
      real.renameSync(...of);
      calls.push(`rename to ${basename(String(of[1]))}`);
    },
    fsyncSync(descriptor: number) {
      if (refusal.code !== '') throw Object.assign(new Error(refusal.code), { code: refusal.code });
      real.fsyncSync(descriptor);
      calls.push(`flush ${basename(names.get(descriptor)!)}`);
    },
  };
});

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'veritrain-whole-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('has the bytes on disk before the name, and the name before it returns', () => {
  writeWhole(join(folder, 'border'), Uint8Array.of(1, 2));
  expect(calls).toEqual(['write and flush border.partial', 'rename to border', `flush ${basename(folder)}`]);
  expect(readFileSync(join(folder, 'border'))).toEqual(Buffer.of(1, 2));
});

it.each([
  ['EINVAL', true],
  ['EIO', false],
])('keeps files where folders cannot be flushed, and says what else fails: %s', (code, isKept) => {
  refusal.code = code;
  const write = (): void => writeWhole(join(folder, 'border'), 'x');
  try {
    if (isKept) expect(write).not.toThrow();
    else expect(write).toThrow(code);
  } finally {
    refusal.code = '';
  }
});
