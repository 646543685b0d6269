/** A user's records in the clear, for as long as a command works on them: a signal that ends it leaves none behind. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface WorkingFolder {
  readonly path: string;
  drop(): void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** @param name of the command that works there */
export function workingFolder(name: string): WorkingFolder {
  const path = mkdtempSync(join(tmpdir(), `veritrain-${name}-`));
  const drop = (): void => {
    for (const signal of signals) process.removeListener(signal, end);
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  };
  const end = (signal: NodeJS.Signals): void => {
    drop();
    // Nobody listens any more, so that the process ends as by a signal.
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, end);
  return { path, drop };
}
