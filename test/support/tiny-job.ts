/** A whole job in one process on a made-up data set: every party's real code, no network, no chain. */
import { webcrypto } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Aes256Gcm, CipherSuite, HkdfSha256 } from '@hpke/core';
import { DhkemX25519HkdfSha256 } from '@hpke/dhkem-x25519';
import { x25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { documentDigest, encodeDocument, type AppraisalPolicy } from '#attestation';
import { addressOfPublicKey, fromHex, keccak, toHex, utf8 } from '#attestation/base';
import {
  datasetManifestJson,
  encodeJobSpec,
  encodeTerms,
  jobIdOf,
  keyReleaseAad,
  keyReleaseInfo,
  noEndorsementRecord,
  parseSessionEvidence,
  shardAssociatedData,
  specDigestOf,
  workersOf,
  type DatasetManifest,
  type JobSpec,
  type KeyBinding,
  type SessionEvidence,
  type Terms,
} from '#attestation/records';
import { planOf } from '#libs/proof';
import type { JobState } from '#libs/settlement';
import {
  canonicalManifest,
  commitDataset,
  datasetRoot,
  initialWeights,
  profileManifest,
  splitRecords,
  superblockRecords,
  type Manifest,
  type ProfileParameters,
} from '#libs/step';
import type { EnclaveEvent, Request } from '#libs/wire/channel';
import { commitmentFormat, createCommitter, dataDigestOf, dataSeed, isWholeSet } from '#libs/zk/commit';
import { commitmentsOfJob, commitToData, dataBlind } from '#libs/zk/groth16/commitment';
import { circuitShape, groth16DataDigest } from '#libs/zk/verifier';
import { developmentPolicy } from '../../apps/cli/src/system/development-policy.js';
import type { BrokerConfig } from '../../apps/key-broker/src/config.js';
import type { Escrows } from '../../apps/key-broker/src/escrow.js';
import { createJudgeParts } from '../../apps/key-broker/src/parts.js';
import { createBroker, type Broker, type BrokerParts } from '../../apps/key-broker/src/release.js';
import { openSimulated } from '../../enclave/src/attesters/simulated.js';
import { createSession } from '../../enclave/src/session.js';
import { teeTerms } from './escrow-terms.js';
import { fakeAmd } from './fake-amd.js';
import { fixturePath } from './fixture.js';

const vendorFile = fixturePath('test-vendor-milan.json');
export const chainId = 31_337;
export const contract = new Uint8Array(20).fill(0x11);
export const registry = new Uint8Array(20).fill(0x22);
export const provider = new Uint8Array(20).fill(0x33);
const client = new Uint8Array(20).fill(0x88);
export const recipientSecret = new Uint8Array(32).fill(0x44);
/** Unix seconds within the life of the stored vendor's certificates. */
export const tinyAt = 1_780_000_000;

const seed = `0x${'5a'.repeat(32)}`;
/** Of the key broker that the terms name. */
export const signingSecret = new Uint8Array(32).fill(0x55);
const resultSecret = new Uint8Array(32).fill(0x66);

type TinyParameters = Partial<Pick<ProfileParameters, 'steps' | 'e' | 'superblock' | 'm'>>;

export function tinyManifest(parameters: TinyParameters = {}): Manifest {
  return profileManifest('fx1', { dims: [6, 5, 3], batch: 4, e: 5, steps: 20, seed, ...parameters });
}

export interface TinyDataset {
  readonly manifest: DatasetManifest;
  readonly key: Uint8Array;
  readonly shards: readonly Uint8Array[];
}

interface TinyDatasetOptions {
  /** Label of the first record of the last shard; classes are 0..2. */
  readonly lastLabel?: number;
  /** Whether the root commits to the records as they are, or as they were before `lastLabel`. */
  readonly root?: 'after' | 'before';
  /** Distinguishes data sets. */
  readonly salt?: number;
  /** Profile of libs/zk; absent: committed to with plain hashes. */
  readonly proving?: string;
  /** Committed to in scheme `fxt-groth16/1` besides. */
  readonly groth16?: boolean;
}

/** 32 records in two shards. */
export async function tinyDataset(m: Manifest, options: TinyDatasetOptions = {}): Promise<TinyDataset> {
  const { lastLabel, root: rooted = 'after', salt = 1 } = options;
  const [count, features, classes] = [32, m.dims[0]!, m.dims.at(-1)!];
  const records = Uint8Array.from({ length: count * (features + 1) }, (_, at) =>
    at % (features + 1) === features
      ? Math.floor(at / (features + 1)) % classes
      : ((at * 73 + salt * 29) ^ (at >> 2)) & 255,
  );
  const half = records.length / 2;
  const id = keccak(Uint8Array.of(salt));
  const key = keccak(Uint8Array.of(salt, 1));
  const before = await committed(m, records.slice(), key, options.proving);
  if (lastLabel !== undefined) records[half + features] = lastLabel;
  const { root, proving } = rooted === 'before' ? before : await committed(m, records, key, options.proving);
  const groth16 = options.groth16 === true && { groth16: inGroth16(m, records, key) };
  const aes = await webcrypto.subtle.importKey('raw', key as Uint8Array<ArrayBuffer>, 'AES-GCM', false, ['encrypt']);
  const shards: Uint8Array[] = [];
  for (const index of [0, 1]) {
    const additionalData = shardAssociatedData({ id, root, shards: { length: 2 } }, index) as Uint8Array<ArrayBuffer>;
    const algorithm = { name: 'AES-GCM', iv: nonceOf(index), additionalData };
    const plaintext = records.slice(index * half, (index + 1) * half);
    shards.push(new Uint8Array(await webcrypto.subtle.encrypt(algorithm, aes, plaintext)));
  }
  const entries = await Promise.all(
    shards.map(async (bytes, index) => ({
      records: count / 2,
      bytes: bytes.length,
      nonce: nonceOf(index),
      sha256: new Uint8Array(await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)),
    })),
  );
  const { batch, superblock } = m;
  const shape = { records: count, features, classes, batch, superblock };
  const scheme = proving === null ? 'state-keccak' : 'fxt-zk/1';
  return { manifest: { version: 1, id, root, scheme, proving, ...groth16, ...shape, shards: entries }, key, shards };
}

async function committed(
  m: Manifest,
  records: Uint8Array,
  key: Uint8Array,
  profile: string | undefined,
): Promise<Pick<DatasetManifest, 'root' | 'proving'>> {
  if (profile === undefined) return { root: (await commitDataset('state-keccak', m, records)).root, proving: null };
  const format = commitmentFormat(m, profile);
  const committer = createCommitter(format);
  const count = records.length / ((m.dims[0]! + 1) * m.batch * m.superblock);
  const parts = isWholeSet(format)
    ? [records]
    : Array.from({ length: count }, (_, index) => superblockRecords(m, records, index));
  const commitments = parts.map((part, index) => committer.data(splitRecords(m, part), dataSeed(key, index)));
  return { root: datasetRoot(commitments.map((one) => dataDigestOf(one, format))), proving: { profile, commitments } };
}

function inGroth16(m: Manifest, records: Uint8Array, key: Uint8Array): NonNullable<DatasetManifest['groth16']> {
  const shape = circuitShape(m);
  const count = records.length / ((m.dims[0]! + 1) * m.batch * m.superblock);
  const commitments = Array.from({ length: count }, (_, index) =>
    commitToData(shape, splitRecords(m, superblockRecords(m, records, index)), dataBlind(key, index)),
  );
  return { root: datasetRoot(commitments.map((one) => groth16DataDigest(shape, one))), commitments };
}

function nonceOf(index: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(12).fill(index + 1);
}

export interface TinyJob {
  readonly manifest: Manifest;
  readonly dataset: TinyDataset;
  readonly policy: AppraisalPolicy;
  readonly spec: JobSpec;
  readonly terms: Terms;
  readonly jobId: Uint8Array;
}

export interface TinyJobOptions {
  readonly manifest?: Manifest;
  readonly dataset?: TinyDataset;
  readonly segmentSteps?: number;
  /** Plan under which Groth16 proves it; the data set must be committed to in that scheme. */
  readonly groth16Plan?: Uint8Array;
  readonly spec?: Partial<JobSpec>;
  readonly terms?: Partial<Terms>;
}

export async function tinyJob(options: TinyJobOptions = {}): Promise<TinyJob> {
  const manifest = options.manifest ?? tinyManifest();
  const dataset = options.dataset ?? (await tinyDataset(manifest));
  const policy = developmentPolicy(fakeAmd('milan').vendor);
  const { id, root, records, shards } = dataset.manifest;
  const spec: JobSpec = {
    version: 1,
    manifest: canonicalManifest(manifest),
    dataset: { id, root, records, shards: shards.length },
    segmentSteps: options.segmentSteps ?? 8,
    scheme: dataset.manifest.scheme,
    proving: provingOf(manifest, dataset),
    policyDigest: fromHex(documentDigest(policy)),
    assurance: 'tee',
    recipient: x25519.getPublicKey(recipientSecret),
    settlement: { chainId, contract },
    salt: new Uint8Array(32).fill(0x77),
    ...(options.groth16Plan && {
      dataset: { id, root: dataset.manifest.groth16!.root, records, shards: shards.length },
      scheme: 'fxt-groth16/1',
      proving: { profile: 'groth16', variant: 'joint', planDigest: options.groth16Plan },
      assurance: 'zk',
    }),
    ...options.spec,
  };
  const jobId = jobIdOf(spec);
  return { manifest, dataset, policy, spec, terms: { ...termsOf(manifest, spec), ...options.terms }, jobId };
}

function provingOf(manifest: Manifest, dataset: TinyDataset): JobSpec['proving'] {
  if (dataset.manifest.proving === null) return null;
  const { profile } = dataset.manifest.proving;
  return { profile, variant: 'separate', planDigest: planOf({ manifest, profile, variant: 'separate' }).digest };
}

function termsOf(manifest: Manifest, spec: JobSpec): Terms {
  return teeTerms({
    client,
    provider,
    keyBroker: addressOfPublicKey(secp256k1.getPublicKey(signingSecret, false)),
    specDigest: specDigestOf(spec),
    initialWeights: commitmentsOfJob(spec, manifest, null).border(0, initialWeights(manifest)),
    policy: spec.policyDigest,
    segments: Math.ceil(manifest.steps / (spec.segmentSteps * workersOf(spec))),
    seedCommitClient: new Uint8Array(32).fill(0xaa),
    acceptBy: tinyAt + 3600,
    planDigest: spec.proving?.planDigest ?? new Uint8Array(32),
    windows: { start: 3600, compute: 3600, challenge: 3600, reveal: 3600, ack: 3600 },
  });
}

type Body<K extends Request['type']> = Omit<Extract<Request, { type: K }>, 'type' | 'id'>;

export interface TinySession {
  readonly events: readonly EnclaveEvent[];
  /** Called with every event before the enclave goes on; one that returns a promise has the event under way until then. */
  onEvent(listener: (event: EnclaveEvent) => unknown): void;
  request<K extends Request['type']>(type: K, body: Body<K>): Promise<Uint8Array>;
  /** The event that ends a run. */
  ended(): Promise<EnclaveEvent>;
}

/** @param now milliseconds; the process's own clock where absent */
export function tinySession(now?: () => number): TinySession {
  const events: EnclaveEvent[] = [];
  let told: (event: EnclaveEvent) => void = () => undefined;
  let heard: (event: EnclaveEvent) => unknown = () => undefined;
  let end = new Promise<EnclaveEvent>((resolve) => (told = resolve));
  const emit = async (event: EnclaveEvent): Promise<void> => {
    events.push(event);
    const sent = heard(event);
    if (!['progress', 'checkpoint', 'piece', 'evaluation'].includes(event.type)) told(event);
    await sent;
  };
  const session = createSession({ cpu: openSimulated(vendorFile) }, emit, now);
  return {
    events,
    onEvent: (listener) => void (heard = listener),
    request: (type, body) => session.handle({ type, id: 1, ...body } as unknown as Request),
    async ended() {
      const event = await end;
      end = new Promise((resolve) => (told = resolve));
      return event;
    },
  };
}

export interface TinyBroker extends BrokerParts {
  readonly broker: Broker;
}

export function tinyBrokerConfig(job: TinyJob, changes: Partial<BrokerConfig> = {}): BrokerConfig {
  const { id } = job.dataset.manifest;
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-journal-'));
  return {
    host: '127.0.0.1',
    port: 0,
    proxies: [],
    logLevel: 'silent',
    attestOnly: false,
    dataKey: (asked) => (toHex(asked) === toHex(id) ? job.dataset.key : null),
    policyFiles: [utf8(JSON.stringify(job.policy))],
    signingSecret,
    resultSecret,
    recipients: new Set([toHex(x25519.getPublicKey(recipientSecret))]),
    clients: new Set([toHex(client)]),
    settlement: { chainId, contract, registry },
    escrow: escrowThatIs('Open'),
    progress: 'epoch',
    jobsPerDataSet: 100,
    jobsPerSession: 16,
    collateral: () => noEndorsementRecord,
    validForSeconds: 3600,
    journal: join(folder, 'journal.jsonl'),
    results: join(folder, 'results'),
    resultsBytesMax: 64 * 1024 * 1024,
    ...changes,
  };
}

/** A chain on which every escrow is in this state. */
export function escrowThatIs(latest: JobState, confirmed = latest, delivery: Uint8Array = new Uint8Array(32)): Escrows {
  return {
    stateOf: async () => ({ latest, confirmed }),
    deliveryOf: async () => ({ ...{ state: latest, delivery, blockNumber: 1, isConfirmed: true }, txHash: '0x' }),
    close: () => undefined,
  };
}

export async function tinyBroker(job: TinyJob, changes: Partial<BrokerConfig> = {}): Promise<TinyBroker> {
  const parts = await createJudgeParts(tinyBrokerConfig(job, changes));
  return { ...parts, broker: createBroker(parts) };
}

export interface Attested {
  readonly session: TinySession;
  readonly evidence: Uint8Array;
  readonly parsed: SessionEvidence;
}

/** A session opened and attested over the broker's nonce for this job. */
export async function attested(
  job: TinyJob,
  { nonces }: Pick<TinyBroker, 'nonces'>,
  now?: () => number,
): Promise<Attested> {
  const session = tinySession(now);
  await session.request('open', { provider, chainId, registry });
  const { nonce } = nonces.issue(job.jobId, tinyAt);
  const evidence = await session.request('attest', { nonce });
  return { session, evidence, parsed: parseSessionEvidence(evidence) };
}

export function releaseRequest(job: TinyJob, evidence: Uint8Array) {
  return { spec: encodeJobSpec(job.spec), terms: encodeTerms(job.terms), evidence };
}

/** The host's half of the key of checkpoints, of a provider that tests make up. */
export const hostSecret = new Uint8Array(32).fill(0x99);

export function jobRequest(
  job: TinyJob,
  { release, signature, sealedKey }: Pick<Body<'job'>, 'release' | 'signature' | 'sealedKey'>,
): Body<'job'> {
  return {
    spec: encodeJobSpec(job.spec),
    terms: encodeTerms(job.terms),
    dataset: utf8(JSON.stringify(datasetManifestJson(job.dataset.manifest))),
    ...{ release, signature, sealedKey, hostSecret },
  };
}

export function policyBytes(job: TinyJob): Uint8Array {
  return encodeDocument(job.policy);
}

/** Any bytes sealed as the broker seals a data key. */
export async function sealBytes(
  bytes: Uint8Array,
  { jobId, job }: { readonly jobId: Uint8Array; readonly job: Uint8Array },
  binding: KeyBinding,
): Promise<Uint8Array> {
  const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes256Gcm() });
  const sender = await suite.createSenderContext({
    recipientPublicKey: await suite.kem.importKey('raw', binding.transportKey.slice().buffer, true),
    info: keyReleaseInfo(jobId).slice().buffer,
  });
  const sealed = await sender.seal(bytes.slice().buffer, keyReleaseAad(binding, job).slice().buffer);
  return new Uint8Array([...new Uint8Array(sender.enc), ...new Uint8Array(sealed)]);
}
