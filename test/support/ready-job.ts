/** A job as an enclave holds it before it trains, for what a session does with stored bytes. */
import { domainSeparator } from '#attestation/records';
import { openShard } from '#libs/sealing';
import { assembleJob, checkJob } from '../../enclave/src/job.js';
import { createAnsweredNonces, openLease } from '../../enclave/src/lease.js';
import type { ReadyJob } from '../../enclave/src/ready-job.js';
import { hostSecret, type TinyJob } from './tiny-job.js';
import type { Keyed } from './tiny-release.js';

/** Under a clock that stands still. */
export async function readyJob(
  job: TinyJob,
  { parsed, granted }: Pick<Keyed, 'parsed' | 'granted'>,
): Promise<ReadyJob> {
  const { release, signature } = granted;
  const { dataset, terms, spec, jobId } = job;
  const { chainId, contract } = spec.settlement;
  const now = (): number => 0;
  const answered = createAnsweredNonces(now);
  answered.note(parsed.nonce);
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const lease = openLease({ release, domain, broker: terms.keyBroker, answered, now });
  const own = { binding: parsed.binding, release, signature };
  const keys = { dataKey: dataset.key, hostSecret };
  const held = checkJob({ jobId, spec, dataset: dataset.manifest, ...keys, terms, own, lease });
  for (const [index, ciphertext] of dataset.shards.entries()) {
    held.shards.set(index, await openShard(dataset.manifest, index, ciphertext, dataset.key));
  }
  return assembleJob(held);
}
