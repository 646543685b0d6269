/** What a lease and a worker of a data-parallel job have in common: the session of an enclave that is given a job. */
import { CollateralError, fromBase64, Rejection, to0x, toBase64, utf8 } from '#attestation/base';
import {
  encodeTerms,
  escrowIdOf,
  hostSecretOf,
  parseSealedDataset,
  pieceRanges,
  piecesHeadBytes,
  sealedDatasetJson,
  shardCount,
  type SealedDataset,
  type Terms,
} from '#attestation/records';
import {
  type AttestorAppraisal,
  type BrokerRelease,
  type CipherStore,
  createBrokerClient,
  isOfBroker,
  publicPart,
} from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import type { AssignedJob } from '#libs/wire';
import { askAttestors, type AttestorsAsked } from './attestors.js';

export type Attested = BrokerRelease & {
  /** What the broker answered to. */
  readonly evidence: Uint8Array;
  /** As many as the terms need. */
  readonly appraisals: readonly AttestorAppraisal[];
};

interface Asked extends AttestorsAsked {
  /** Origins of the key brokers that are asked; absent: any over https, or on this machine. */
  readonly brokers: readonly string[] | undefined;
}

/**
 * The broker's release and the appraisals of attestors for one session, each over fresh evidence, all asked at once; and
 * once more where the first word has grown old when the last one comes.
 * @throws CollateralError HOST_WORDS_OLD; those of askAttestors and of the broker
 */
export async function askForKey(
  job: AssignedJob,
  terms: Terms,
  enclave: EnclaveClient,
  asked: Asked,
): Promise<Attested> {
  const askAll = async (): Promise<Attested> => {
    const began = Date.now() / 1000;
    const [released, appraisals] = await Promise.all([
      askBroker(job, terms, enclave, asked),
      askAttestors(job, terms, enclave, asked),
    ]);
    const answer = { ...released, appraisals };
    checkYoung(answer, began);
    return answer;
  };
  return asked.patience.keep(askAll, ({ code }) => code === wordsOld);
}

const wordsOld = 'HOST_WORDS_OLD';

/** What has a third of its time left lasts until the chain has taken it. @param began  unix seconds at which all were asked */
function checkYoung({ release, appraisals }: Attested, began: number): void {
  const until = Math.min(release.notAfter, ...appraisals.map(({ appraisal }) => appraisal.notAfter));
  const left = until - Date.now() / 1000;
  if (left >= (until - began) / 3) return;
  throw new CollateralError(wordsOld, {
    expected: 'release and appraisals with a third of their time left when the last of them comes',
    got: `${Math.floor(left)} s of ${Math.floor(until - began)} s`,
    rule: 'contracts/SPEC.md §10',
    action: 'let key broker and attestors answer sooner, or raise their validForSeconds',
  });
}

/** One that has no nonce, or forgot its own, is asked again. */
async function askBroker(
  { jobId, spec, brokerUrl }: AssignedJob,
  terms: Terms,
  enclave: EnclaveClient,
  { brokers, patience }: Asked,
): Promise<Omit<Attested, 'appraisals'>> {
  const broker = createBrokerClient(brokerUrl, brokers, patience);
  return patience.keep(async () => {
    const evidence = await enclave.request('attest', { nonce: await broker.challenge(jobId) });
    const answer = await broker.release({ spec: fromBase64(spec), terms: encodeTerms(terms), evidence });
    return { ...answer, evidence };
  }, isOfBroker);
}

/**
 * Hands over the job with its sealed key and the host's half of the key of checkpoints.
 * @param root what the halves of all jobs follow from
 * @returns the data set's public face
 */
export async function giveJob(
  job: AssignedJob,
  terms: Terms,
  { sealedKey, release, releaseSignature: signature }: Attested,
  enclave: EnclaveClient,
  root: Uint8Array,
): Promise<SealedDataset> {
  const manifest = parseSealedDataset(job.datasetManifest);
  const dataset = utf8(JSON.stringify(sealedDatasetJson(manifest)));
  const hostSecret = hostSecretOf(root, escrowIdOf(terms));
  const keyed = { release, signature, sealedKey, hostSecret };
  await enclave.request('job', { spec: fromBase64(job.spec), terms: encodeTerms(terms), dataset, ...keyed });
  return manifest;
}

/** What a verdict rested on, as messages carry it. */
export function judgedOf({ evidence, endorsements }: Pick<Attested, 'evidence' | 'endorsements'>) {
  return { evidence: toBase64(evidence), endorsements: toBase64(endorsements) };
}

/**
 * What the control plane refused of a session; that clocks are apart is no fault of the job, and may be over at the next
 * attempt.
 */
export function clocksApart(error: unknown): never {
  if (error instanceof Rejection && error.code === 'RELEASE_TIME') throw new CollateralError(error.code, error.detail);
  throw error;
}

/** What of the answers the control plane is told. */
export function releasedOf(answer: Attested) {
  return publicPart(answer, answer.appraisals);
}

/** Of both sets, where there are two. */
export async function sendShards(dataset: SealedDataset, enclave: EnclaveClient, store: CipherStore): Promise<void> {
  let sent: Promise<unknown> = Promise.resolve();
  for (let index = 0; index < shardCount(dataset); index++) {
    const ciphertext = await store.shard(to0x(dataset.id), index);
    await sent;
    sent = enclave.request('shard', { index, ciphertext });
    sent.catch(() => undefined);
  }
  await sent;
}

/** Of a job that starts from weights: their parts, in order. */
export async function sendStart(
  { start = [] }: AssignedJob,
  enclave: EnclaveClient,
  store: CipherStore,
): Promise<void> {
  for (const [index, name] of start.entries()) {
    await enclave.request('start', { index, weights: await store.getBlob(name) });
  }
}

/**
 * What a successor goes on from; of a large one all pieces but the last are sent at once, one in memory at a time.
 * @returns the checkpoint, or its last piece; null: the job starts at its first step
 * @throws CollateralError CHECKPOINT_BROKEN
 */
export async function sendCheckpoint(
  { resume }: Pick<AssignedJob, 'resume'>,
  isLarge: boolean,
  enclave: EnclaveClient,
  store: CipherStore,
): Promise<Uint8Array | null> {
  if (resume === null) return null;
  if (!isLarge) return store.getBlob(resume.blob);
  const head = await store.getPart(resume.blob, 0, piecesHeadBytes);
  const ranges = pieceRanges(head.total);
  for (const [index, { from, to }] of ranges.entries()) {
    const { bytes } = await store.getPart(resume.blob, from, to - from);
    if (bytes.length !== to - from) throw broken(`${to - from} bytes from ${from} on`, `${bytes.length}`);
    if (index === ranges.length - 1) return bytes;
    await enclave.request('piece', { index, ciphertext: bytes });
  }
  throw broken('a checkpoint in pieces', `${head.total} bytes`);
}

function broken(expected: string, got: string): CollateralError {
  return new CollateralError('CHECKPOINT_BROKEN', {
    expected,
    got,
    rule: 'attestation/SPEC.md, pieces',
    action: 'look at the store of the control plane',
  });
}

export function givenBack(): CollateralError {
  return new CollateralError('LEASE_GIVEN_BACK', {
    expected: 'a lease that somebody waits for, at a host that goes on',
    got: 'one that was cancelled or lost before its escrow was accepted, or a host that stops',
    rule: 'dispatch protocol',
    action: 'offer the job again if it is still wanted',
  });
}
