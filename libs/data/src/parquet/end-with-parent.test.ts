/** A busy process ends soon after the one that started it was killed and could end nothing itself. */
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { startProcess } from '#libs/process';

const module = pathToFileURL(join(import.meta.dirname, 'end-with-parent.ts')).href;
const flags = ['--import', '@oxc-node/core/register', '--conditions', 'source'];
const busy = `
  import { endWithParent } from '${module}';
  if (process.argv.includes('watched')) endWithParent();
  setTimeout(() => { process.send('busy'); for (;;); }, 300);`;
const starter = `
  import { spawn } from 'node:child_process';
  const args = [...process.execArgv.slice(0, 4), '--input-type=module', '-e', process.env.BUSY, ...process.argv.slice(1)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  child.once('message', () => console.log(child.pid));`;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it.concurrent.each([
  ['watched', false],
  ['not watched', true],
])(
  '%s: lives on %s',
  async (how, lives) => {
    const args = [...flags, '--input-type=module', '-e', starter, how];
    const { child } = startProcess([process.execPath, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, BUSY: busy },
    });
    const [line] = (await once(child.stdout!, 'data')) as [Buffer];
    const pid = Number(String(line));
    expect(isAlive(pid)).toBe(true);
    child.kill('SIGKILL');
    try {
      if (lives) await setTimeout(1_500);
      else await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 5_000, interval: 100 });
      expect(isAlive(pid)).toBe(lives);
    } finally {
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    }
  },
  20_000,
);
