/** Runs a command of the command line as its process would, without one. */
import { vi } from 'vitest';
import { run } from '../../apps/cli/src/program.js';

export interface Ran {
  readonly code: number;
  /** The document that --json prints. */
  readonly json: Record<string, unknown>;
}

export async function runCommand(...args: readonly string[]): Promise<Ran> {
  let out = '';
  process.exitCode = 0;
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  try {
    await run(['node', 'veritrain', ...args, '--json']);
    return { code: Number(process.exitCode ?? 0), json: JSON.parse(out || '{}') as Record<string, unknown> };
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
    process.exitCode = 0;
  }
}
