/** The prover worker's processes for single proofs and for keys, which speak JSON on their standard streams. */
import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { ConfigurationError } from '#attestation/base';
import { nodeCommand, startProcess } from '#libs/process';

export function startWorker(name: 'prove-main' | 'key-main'): ChildProcessByStdio<Writable, Readable, Readable> {
  const { child } = startProcess(nodeCommand(`../../../prover-worker/src/${name}`, import.meta.url));
  return child as ChildProcessByStdio<Writable, Readable, Readable>;
}

export function workerFailed(faults: string): ConfigurationError {
  const got = faults.slice(-400) || 'nothing';
  return new ConfigurationError('PROVER_FAILED', { expected: 'an answer of the prover', got, rule: 'prover process' });
}
