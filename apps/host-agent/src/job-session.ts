/** What a lease and a worker of a data-parallel job have in common: the session of an enclave that is given a job. */
import {
  CollateralError,
  datasetManifestJson,
  encodeTerms,
  parseDatasetManifest,
  toHex,
  utf8,
  type DatasetManifest,
  type Terms,
} from '#attestation';
import { type BrokerClient, type BrokerRelease, type CipherStore, publicPart } from '#libs/dispatch-client';
import type { EnclaveClient } from '#libs/enclave-channel';
import type { AssignedJob } from '#libs/messaging';

export type Attested = BrokerRelease & {
  /** What the broker answered to. */
  readonly evidence: Uint8Array;
};

/** Fresh evidence over the broker's nonce, shown to the broker. */
export async function askBroker(
  { jobId, spec }: AssignedJob,
  terms: Terms,
  enclave: EnclaveClient,
  broker: BrokerClient,
): Promise<Attested> {
  const evidence = await enclave.request('attest', { nonce: await broker.challenge(jobId) });
  const answer = await broker.release({ spec: fromBase64(spec), terms: encodeTerms(terms), evidence });
  return { ...answer, evidence };
}

/** Hands over the job with its sealed key. @returns the data set's public face */
export async function giveJob(
  job: AssignedJob,
  terms: Terms,
  { sealedKey }: Attested,
  enclave: EnclaveClient,
): Promise<DatasetManifest> {
  const manifest = parseDatasetManifest(job.datasetManifest);
  const dataset = utf8(JSON.stringify(datasetManifestJson(manifest)));
  await enclave.request('job', { spec: fromBase64(job.spec), terms: encodeTerms(terms), dataset, sealedKey });
  return manifest;
}

/** What of the broker's answer the control plane is told. */
export function releasedOf(answer: BrokerRelease) {
  return { release: publicPart(answer), result: base64(answer.result) };
}

export async function sendShards(dataset: DatasetManifest, enclave: EnclaveClient, store: CipherStore): Promise<void> {
  let sent: Promise<unknown> = Promise.resolve();
  for (const index of dataset.shards.keys()) {
    const ciphertext = await store.shard(`0x${toHex(dataset.id)}`, index);
    await sent;
    sent = enclave.request('shard', { index, ciphertext });
    sent.catch(() => undefined);
  }
  await sent;
}

export function givenBack(): CollateralError {
  return new CollateralError('LEASE_GIVEN_BACK', {
    expected: 'a lease that somebody waits for, at a host that goes on',
    got: 'one that was cancelled or lost before its escrow was accepted, or a host that stops',
    rule: 'dispatch protocol',
    action: 'offer the job again if it is still wanted',
  });
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

export function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'));
}
