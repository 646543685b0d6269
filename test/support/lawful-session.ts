/** A session of lawful evidence, with a release of the real key broker, whose keys are the test's: it signs whatever it likes. */
import { encodeSessionEvidence, reportData, withSessionProof } from '#attestation/records';
import { simulatedMeasurement } from '#libs/simulated-vendor';
import type { Released } from '../../apps/key-broker/src/release.js';
import { createSessionKeys, type SessionKeys } from '../../enclave/src/keys.js';
import { fakeAmd } from './fake-amd.js';
import { chainId, provider, registry, releaseRequest, tinyAt, tinyBroker, type TinyJob } from './tiny-job.js';

interface LawfulSession {
  readonly keys: SessionKeys;
  readonly evidence: Uint8Array;
  readonly released: Released;
}

export async function lawfulSession(job: TinyJob): Promise<LawfulSession> {
  const keys = await createSessionKeys({ provider, chainId, registry });
  const { broker, nonces } = await tinyBroker(job);
  const { nonce } = nonces.issue(job.jobId, tinyAt);
  const amd = fakeAmd('milan');
  const values = { MEASUREMENT: simulatedMeasurement, REPORT_DATA: reportData(nonce, keys.binding) };
  const reported = {
    ...{ nonce, binding: keys.binding, gpus: [], claims: new Uint8Array() },
    cpu: { kind: 'simulated-snp', report: await amd.report(values), certificates: amd.certificates } as const,
  };
  const evidence = encodeSessionEvidence(await withSessionProof(reported, keys.signReceipt));
  return { keys, evidence, released: await broker.release(releaseRequest(job, evidence), tinyAt) };
}
