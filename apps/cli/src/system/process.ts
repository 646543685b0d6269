/** Child processes of the embedded system: started, waited for, stopped together. */
import type { ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ConfigurationError, reportedError, type CodedError } from '#attestation/base';
import { nodeCommand, startProcess, tailOf, within } from '#libs/process';

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
 * @throws CodedError that the app ended with; ConfigurationError PROCESS_START with the end of its log where there is none
 */
export async function startApp(
  name: string,
  folder: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  called = name,
  under: readonly string[] = [],
): Promise<RunningProcess> {
  const command = nodeCommand(`../../../${name}/src/main`, import.meta.url, args);
  const started = startProcess([...under, ...command] as [string, ...string[]], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const { child, exited, kill } = started;
  const tail = keepLog(child, join(folder, `${called}.log`));
  const ready = await within(readyWithinMs, Promise.race([readyLine(child), exited.then(() => undefined)]));
  if (ready === undefined) {
    await kill();
    throw startError(called, tail(), join(folder, `${called}.log`));
  }
  return { name: called, pid: child.pid!, ready, exited, stop: () => started.stop(stopWithinMs), kill };
}

function startError(called: string, tail: string, log: string): CodedError {
  const lines = tail.trim().split('\n');
  const reports = lines.filter((line) => line.startsWith('{"family":')).map(reportOf);
  const report = reports.findLast((one) => one !== null);
  if (report !== undefined && report !== null) {
    return reportedError({ ...report, got: `${called}: ${report.got}`, action: report.action ?? `read ${log}` });
  }
  return new ConfigurationError('PROCESS_START', {
    expected: `${called} to start`,
    got: lines.slice(-5).join(' | ') || 'no output',
    rule: 'embedded system',
    action: `read ${log}`,
  });
}

function reportOf(line: string): Record<'code' | 'got' | 'action', string> | null {
  try {
    return JSON.parse(line) as Record<'code' | 'got' | 'action', string>;
  } catch {
    return null;
  }
}

function keepLog(child: ChildProcess, path: string): () => string {
  const file = createWriteStream(path, { flags: 'a', mode: 0o600 });
  child.stderr!.pipe(file);
  return tailOf(child.stderr!, 4000);
}

function readyLine(child: ChildProcess): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (!line.startsWith('{"ready":true')) return;
      resolve(JSON.parse(line) as Record<string, unknown>);
    });
  });
}
