/** The prover worker's processes for single proofs and for keys, which speak JSON on their standard streams. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ConfigurationError } from '#attestation/base';

export function startWorker(name: 'prove-main' | 'key-main'): ChildProcessByStdio<Writable, Readable, Readable> {
  const built = import.meta.url.endsWith('.js');
  const flags = built ? [] : ['--conditions=source', '--import', '@oxc-node/core/register'];
  const file = fileURLToPath(new URL(`../../../prover-worker/src/${name}.${built ? 'js' : 'ts'}`, import.meta.url));
  return spawn(process.execPath, [...flags, file], { stdio: ['pipe', 'pipe', 'pipe'] });
}

export function workerFailed(faults: string): ConfigurationError {
  const got = faults.slice(-400) || 'nothing';
  return new ConfigurationError('PROVER_FAILED', { expected: 'an answer of the prover', got, rule: 'prover process' });
}
