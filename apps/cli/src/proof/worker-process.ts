/** Entries of the prover worker, each a process that speaks JSON on its standard streams. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { CollateralError, ConfigurationError, Rejection } from '#attestation';

export type WorkerEntry = 'prove' | 'prepare' | 'work';

export function startWorkerEntry(
  entry: WorkerEntry,
  args: readonly string[] = [],
): ChildProcessByStdio<Writable, Readable, Readable> {
  const built = import.meta.url.endsWith('.js');
  const path = `../../../prover-worker/src/${entry}-main.${built ? 'js' : 'ts'}`;
  const flags = built ? [] : ['--conditions=source', '--import', '@oxc-node/core/register'];
  const file = fileURLToPath(new URL(path, import.meta.url));
  return spawn(process.execPath, [...flags, file, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
}

/**
 * Runs an entry to its end and gives every line of its standard output, parsed.
 *
 * @throws ConfigurationError PROVER_FAILED when it ends otherwise than with status 0 and says no reason itself
 */
export async function runWorkerEntry(
  entry: WorkerEntry,
  args: readonly string[],
  input: string,
  onEvent: (event: Record<string, unknown>) => void,
): Promise<void> {
  const child = startWorkerEntry(entry, args);
  const stop = (): void => void child.kill('SIGKILL');
  process.once('exit', stop);
  try {
    let faults = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (faults = (faults + chunk).slice(-2000)));
    child.stdin.on('error', () => undefined).end(input);
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
    for await (const line of createInterface({ input: child.stdout })) {
      const event = JSON.parse(line) as Record<string, unknown>;
      if (event.event === 'failed') throw reportedError(event as Record<string, string>);
      if (event.error !== undefined) throw reportedError(event.error as Record<string, string>);
      onEvent(event);
    }
    if ((await closed) !== 0) throw workerFailed(faults);
  } finally {
    process.removeListener('exit', stop);
  }
}

/** The failure that a worker reported, as it would have been thrown here. */
export function reportedError({
  family,
  code = 'PROVER_FAILED',
  expected = '',
  got = '',
  rule = '',
  action,
}: Record<string, string>): Error {
  const detail = { expected, got, rule, ...(action && { action }) };
  if (family === 'configuration') return new ConfigurationError(code, detail);
  return family === 'collateral' ? new CollateralError(code, detail) : new Rejection(code, detail);
}

export function workerFailed(faults: string): ConfigurationError {
  const got = faults.slice(-400) || 'nothing';
  return new ConfigurationError('PROVER_FAILED', { expected: 'an answer of the prover', got, rule: 'prover process' });
}
