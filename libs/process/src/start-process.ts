/** Child processes: started, ended, waited for. */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import type { Readable } from 'node:stream';
import { within } from './wait.js';

interface ProcessOptions extends Pick<SpawnOptions, 'cwd' | 'env' | 'gid' | 'serialization' | 'stdio' | 'uid'> {
  /** Killed when this process exits; left alone where absent. */
  readonly endsWithUs?: boolean;
}

export interface StartedProcess {
  readonly child: ChildProcess;
  /** Its exit status; null where a signal ended it or it could not be started. */
  readonly exited: Promise<number | null>;
  isRunning(): boolean;
  /** Sends the signal, kills the process where it still runs after the grace, and waits for its exit. */
  stop(graceMs: number, signal?: NodeJS.Signals): Promise<void>;
  /** Kills it and waits for its exit; harmless where it has ended. */
  kill(): Promise<void>;
}

export function startProcess(
  [file, ...args]: readonly [file: string, ...args: string[]],
  { endsWithUs = false, ...options }: ProcessOptions = {},
): StartedProcess {
  const child = spawn(file, args, options);
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', resolve);
    child.on('error', () => child.pid ?? resolve(null));
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  const isRunning = (): boolean => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  if (endsWithUs) {
    const end = (): void => void child.kill('SIGKILL');
    process.once('exit', end);
    void exited.then(() => process.removeListener('exit', end));
  }
  return {
    child,
    exited,
    isRunning,
    async stop(graceMs, signal = 'SIGTERM') {
      if (!isRunning()) return;
      child.kill(signal);
      if ((await within(graceMs, exited)) === undefined) await kill();
    },
    kill,
  };
}

/** Keeps the last characters of what a process prints. */
export function tailOf(stream: Readable, charactersMax: number): () => string {
  let tail = '';
  stream.on('data', (chunk: Buffer | string) => (tail = (tail + chunk.toString()).slice(-charactersMax)));
  return () => tail;
}
