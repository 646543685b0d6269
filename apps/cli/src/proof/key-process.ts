/** Makes a Groth16 key in a process of the prover worker's code. */
import { json, text } from 'node:stream/consumers';
import { reportedError } from '#attestation/base';
import { startWorker, workerFailed } from './worker-process.js';

export interface MadeKey {
  readonly plan: string;
  readonly folder: string;
  readonly ceremony: string;
  readonly verificationKey: string;
  readonly constraints: number;
}

/** @throws CodedError as the process reports it; ConfigurationError PROVER_FAILED */
export async function makeKey(request: object): Promise<MadeKey> {
  const child = startWorker('key-main');
  child.stdin.on('error', () => undefined).end(JSON.stringify(request));
  const faults = text(child.stderr);
  const answer = (await json(child.stdout).catch(() => ({}))) as Partial<MadeKey> & { error?: Record<string, string> };
  if (answer.error !== undefined) throw reportedError({ code: 'PROVER_FAILED', ...answer.error });
  if (answer.plan === undefined) throw workerFailed(await faults);
  return answer as MadeKey;
}
