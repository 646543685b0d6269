/**
 * The engine as a process of the enclave's code; it speaks JSON on its standard streams (enclave/SPEC.md, engine alone).
 */
import { createInterface } from 'node:readline';
import { reportedError } from '#attestation/base';
import type { EdgeFigures } from '#libs/client';
import { nodeCommand, startProcess } from '#libs/process';

export interface EngineReport {
  readonly digests: Readonly<Record<string, string>>;
  readonly samplesPerSecond: number;
  /** Of a run with a checkpoint: steps that it had done before. */
  readonly resumedFrom?: number;
}

/** Figures of the steps since the last ones. */
export interface EngineProgress {
  readonly step: number;
  readonly loss: number;
  readonly accuracy: number;
  readonly edges: readonly EdgeFigures[];
}

/** @param onProgress absent: figures go to standard error as they come */
export async function runEngine(
  request: object,
  onProgress?: (progress: EngineProgress) => void,
): Promise<EngineReport> {
  const command = nodeCommand('../../../../enclave/src/engine/engine-main', import.meta.url);
  const { child } = startProcess(command, { stdio: ['pipe', 'pipe', onProgress === undefined ? 'inherit' : 'pipe'] });
  child.stdin!.on('error', () => undefined).end(JSON.stringify(request));
  if (onProgress !== undefined) {
    createInterface({ input: child.stderr! }).on('line', (line) => {
      if (line.startsWith('{"step"')) onProgress(JSON.parse(line) as EngineProgress);
    });
  }
  let printed = '';
  for await (const chunk of child.stdout!) printed += String(chunk);
  const answer = JSON.parse(printed || '{}') as EngineReport & { error?: Record<string, string> };
  if (answer.error === undefined && answer.digests !== undefined) return answer;
  throw reportedError({ code: 'ENGINE_FAILED', expected: 'a report', got: 'nothing', ...answer.error });
}
