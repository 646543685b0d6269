/**
 * Thread that ends its process when the process and its children hold more than a given number of bytes: snarkjs and
 * circom take WebAssembly memories, which no limit of the heap covers. The toolchain's answer is then this one.
 */
import { readFileSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { ConfigurationError } from '#attestation/base';

const everyMs = 20;
const standardOutput = 1;
const pageBytes = 4096;

/** Processes that this one started; none where the system does not list them. */
function children(): string[] {
  return (fileText(`/proc/${process.pid}/task/${process.pid}/children`) ?? '').split(' ').filter(Boolean);
}

function residentBytes(): number {
  const ofChildren = children().map((pid) => Number(fileText(`/proc/${pid}/statm`)?.split(' ')[1] ?? 0) * pageBytes);
  return ofChildren.reduce((sum, bytes) => sum + bytes, process.memoryUsage.rss());
}

function fileText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

setInterval(() => {
  const [held, most] = [residentBytes(), workerData as number];
  if (held <= most) return;
  const error = new ConfigurationError('ZK_MEMORY_EXCEEDED', {
    expected: `at most ${most} bytes resident in circom and snarkjs`,
    got: `${held}`,
    rule: 'libs/zk/src/groth16/SPEC.md §1',
    action: 'raise --memory, or use --backend sumcheck',
  });
  writeSync(standardOutput, JSON.stringify({ error }));
  for (const pid of [...children(), process.pid]) process.kill(Number(pid), 'SIGKILL');
}, everyMs);
