/** Starts the toolchain's process and takes its answer. */
import { json, text } from 'node:stream/consumers';
import { ConfigurationError, reportedError } from '#attestation/base';
import { nodeCommand, startProcess } from '#libs/process';
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
  const limits = memoryBytesMax === undefined ? [] : [String(memoryBytesMax)];
  const command = nodeCommand('./tool-main', import.meta.url, limits);
  const { child } = startProcess(command, { stdio: ['pipe', 'pipe', 'pipe', 'ipc'], endsWithUs: true });
  try {
    child.stdin!.on('error', () => undefined).end(JSON.stringify(request));
    const faults = text(child.stderr!);
    const answer = (await json(child.stdout!).catch(() => ({}))) as ToolAnswer & { error?: Record<string, string> };
    if (answer.error !== undefined) throw reportedError({ code: 'GROTH16_TOOL', ...answer.error });
    if (answer.cpuSeconds === undefined) throw failed(await faults);
    return answer;
  } finally {
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
