/** The demonstration in a guest, where there is no QEMU. test/e2e/guest-host.wide.test.ts runs jobs in guests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { runCommand } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-no-qemu-'));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

it('says how to install it before anything starts', async () => {
  vi.stubEnv('PATH', folder);
  const { code, json } = await runCommand('demo', '--guest', '--folder', join(folder, 'demo'));
  expect([code, json['error']]).toMatchObject([
    expect.any(Number),
    { code: 'GUEST_QEMU_ABSENT', action: expect.stringContaining('apt install qemu-system-x86') as string },
  ]);
  expect(code).not.toBe(0);
});
