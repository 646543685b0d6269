/** Starts the toolchain's process and takes its answer. */
import { spawn } from 'node:child_process';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { ConfigurationError, reportedError } from '#attestation/base';
import type { ToolAnswer, ToolRequest } from './protocol.js';

export interface ToolLimits {
  /** Resident bytes of the process and what it starts; no limit where absent. */
  readonly memoryBytesMax?: number | undefined;
}

/**
 * @throws ConfigurationError BACKEND_UNAVAILABLE, GROTH16_COMPILE, GROTH16_PTAU, GROTH16_TOOL, ZK_MEMORY_EXCEEDED;
 *   Rejection GROTH16_WITNESS
 */
export async function runTool(request: ToolRequest, { memoryBytesMax }: ToolLimits = {}): Promise<ToolAnswer> {
  const built = import.meta.url.endsWith('.js');
  const file = fileURLToPath(new URL(`./tool-main.${built ? 'js' : 'ts'}`, import.meta.url));
  const flags = built ? [] : ['--conditions=source', '--import', '@oxc-node/core/register'];
  const limits = memoryBytesMax === undefined ? [] : [String(memoryBytesMax)];
  const child = spawn(process.execPath, [...flags, file, ...limits], { stdio: ['pipe', 'pipe', 'pipe', 'ipc'] });
  const stop = (): void => void child.kill('SIGKILL');
  process.once('exit', stop);
  try {
    child.stdin!.on('error', () => undefined).end(JSON.stringify(request));
    const faults = text(child.stderr!);
    const answer = (await json(child.stdout!).catch(() => ({}))) as ToolAnswer & { error?: Record<string, string> };
    if (answer.error !== undefined) throw reportedError({ code: 'GROTH16_TOOL', ...answer.error });
    if (answer.cpuSeconds === undefined) throw failed(await faults);
    return answer;
  } finally {
    process.removeListener('exit', stop);
    child.kill();
  }
}

function failed(faults: string): ConfigurationError {
  const got = faults.slice(-400) || 'nothing';
  return new ConfigurationError('GROTH16_TOOL', {
    expected: 'an answer of the toolchain',
    got,
    rule: 'libs/zk/src/groth16/SPEC.md §1',
  });
}
