/** Child processes of the embedded system: started, waited for, stopped together. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ConfigurationError } from '#attestation/base';

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** What it printed when it was ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  readonly exited: Promise<number | null>;
  stop(): Promise<void>;
  /** Ends it without a word; harmless where it has ended. */
  kill(): Promise<void>;
}

const readyWithinMs = 180_000;
const stopWithinMs = 5_000;

/**
 * Starts an app and waits for the line {"ready":true,…} on its stdout. Everything it logs goes to `<folder>/<called>.log`.
 *
 * @param called  what this one of several is called; absent: as the app
 * @param under  command that it is started under, such as nsenter with its arguments; the process id must stay its own
 * @throws ConfigurationError PROCESS_START with the end of its log
 */
export async function startApp(
  name: string,
  folder: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  called = name,
  under: readonly string[] = [],
): Promise<RunningProcess> {
  const [entry, flags] = appEntry(name);
  const [file, ...words] = [...under, process.execPath, ...flags, entry, ...args];
  const child = spawn(file!, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const tail = keepLog(child, join(folder, `${called}.log`));
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const ready = await Promise.race([readyLine(child), exited.then(() => null), delay(readyWithinMs)]);
  if (ready === null) {
    child.kill('SIGKILL');
    throw new ConfigurationError('PROCESS_START', {
      expected: `${called} to start`,
      got: tail().trim().split('\n').slice(-5).join(' | ') || 'no output',
      rule: 'embedded system',
      action: `read ${join(folder, `${called}.log`)}`,
    });
  }
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { name: called, pid: child.pid!, ready, exited, stop: () => stopChild(child, exited), kill };
}

async function stopChild(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  if ((await Promise.race([exited.then(() => true), delay(stopWithinMs)])) === null) child.kill('SIGKILL');
}

function keepLog(child: ChildProcess, path: string): () => string {
  const file = createWriteStream(path, { flags: 'a', mode: 0o600 });
  let tail = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    tail = (tail + chunk.toString('utf8')).slice(-4000);
    file.write(chunk);
  });
  child.once('close', () => file.end());
  return () => tail;
}

function readyLine(child: ChildProcess): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (!line.startsWith('{"ready":true')) return;
      resolve(JSON.parse(line) as Record<string, unknown>);
    });
  });
}

function delay(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms).unref());
}

/** Built code runs as it is; from source (tests) an app needs the same loader. */
function appEntry(name: string): readonly [entry: string, flags: readonly string[]] {
  const built = import.meta.url.endsWith('.js');
  const entry = fileURLToPath(new URL(`../../../${name}/src/main.${built ? 'js' : 'ts'}`, import.meta.url));
  return [entry, built ? [] : ['--conditions=source', '--import', '@oxc-node/core/register']];
}
