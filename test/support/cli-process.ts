/** `veritrain` as a process of its own; what it starts is killed with it. */
import { nodeCommand, startProcess } from '#libs/process';
import { withDescendants } from '../faults/processes.js';
import { watchTree } from './tree-memory.js';

interface CliRun {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly json: Record<string, unknown>;
  readonly stderr: string;
  /** Of all its processes together (tree-memory.ts). */
  readonly peakBytes: number;
}

/**
 * @param killWhen asked every few milliseconds; once true, all its processes get SIGKILL
 * @param nodeFlags of the process itself
 */
export async function runCli(
  args: readonly string[],
  { killWhen, nodeFlags = [] }: { killWhen?: () => boolean; nodeFlags?: readonly string[] } = {},
): Promise<CliRun> {
  const command = nodeCommand('../../apps/cli/src/main', import.meta.url, [...args, '--json'], nodeFlags);
  const { child } = startProcess(command, { stdio: ['ignore', 'pipe', 'pipe'], endsWithUs: true });
  const memory = watchTree(child.pid!);
  let [stdout, stderr] = ['', ''];
  child.stdout!.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-1_000_000)));
  const look = setInterval(() => {
    if (killWhen?.() === true) killAll(withDescendants(child.pid!));
  }, 5);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
    child.once('close', (ended, by) => resolve([ended, by])),
  );
  clearInterval(look);
  memory.stop();
  const json = JSON.parse(stdout || '{}') as Record<string, unknown>;
  return { code, signal, json, stderr, peakBytes: memory.peakBytes() };
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}
