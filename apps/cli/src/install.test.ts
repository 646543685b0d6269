import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('installs nothing through node_modules that is a symbolic link', () => {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-install-'));
  try {
    const script = join(folder, 'clone/apps/cli/bin/run.mjs');
    cpSync(join(import.meta.dirname, '../bin/run.mjs'), script);
    writeFileSync(join(folder, 'clone/package-lock.json'), '{}');
    mkdirSync(join(folder, 'other'));
    writeFileSync(join(folder, 'other/kept'), 'kept');
    symlinkSync(join(folder, 'other'), join(folder, 'clone/node_modules'), 'dir');
    const { status, stderr } = spawnSync(process.execPath, [script, 'build'], {
      encoding: 'utf8',
      env: { PATH: '' },
    });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('remove the link') as string });
    expect(readFileSync(join(folder, 'other/kept'), 'utf8')).toBe('kept');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
