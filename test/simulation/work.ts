/** Simulated jobs: real specs, terms, receipts and signatures, under keys that are made for tests. */
import { createHash, createPrivateKey, sign as signWith } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import {
  addressOfPublicKey,
  appraisalDigest,
  bordersRoot,
  datasetManifestJson,
  deliveryDigest,
  domainSeparator,
  enclaveKeyWord,
  encodeJobSpec,
  encodeSessionEvidence,
  encodeStepStatement,
  fromHex,
  jobDigest,
  jobIdOf,
  registryDomainSeparator,
  releaseDigest,
  signReceipt,
  termsJson,
  toHex,
  type DatasetManifest,
  type JobSpec,
  type Terms,
} from '#attestation';
import { canonicalManifest, manifestDigest, profileManifest, type Manifest } from '#libs/step';
import type { SignedStatement } from '#libs/messaging';
import { teeTerms } from '#test/escrow-terms';
import type { NewJob } from '../../apps/control-plane/src/jobs/jobs.service.js';
import type { Random } from './random.js';

export const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;
export const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
export const sha256 = (data: Uint8Array | string): Uint8Array =>
  new Uint8Array(createHash('sha256').update(data).digest());

export const chainId = 31_337;
export const contract = new Uint8Array(20).fill(0xcc);
const registry = new Uint8Array(20).fill(0xdd);
const receiptSecret = sha256('test receipt key');
/** PKCS #8 around the 32 bytes of an Ed25519 key (RFC 8410). */
const receiptSigner = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), receiptSecret]),
  format: 'der',
  type: 'pkcs8',
});
export const receiptKey = ed25519.getPublicKey(receiptSecret);
const brokerSecret = sha256('test broker account');
const broker = addressOfPublicKey(secp256k1.getPublicKey(brokerSecret, false));
const settlementKey = new Uint8Array(20).fill(0x66);
const policy = Buffer.from('test policy');
const policyDigest = sha256(policy);
const anyone = new Uint8Array(20);
export const segmentSteps = 2;
const word = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);

/** By their number of segments. */
const manifests = [1, 1, 2, 3].map((segments): Manifest => {
  const seed: `0x${string}` = `0x${'5e'.repeat(32)}`;
  return profileManifest('fx1', { dims: [4, 3, 2], batch: 4, e: 12, steps: segments * segmentSteps, seed });
});

export const dataset: DatasetManifest = {
  version: 1,
  id: word(0x1d),
  root: word(0xda),
  scheme: 'state-keccak',
  records: 8,
  features: 4,
  classes: 2,
  batch: 4,
  superblock: 1,
  proving: null,
  shards: [{ records: 8, bytes: 56, nonce: new Uint8Array(12), sha256: word(0x5a) }],
};

export function datasetRow(tenant: string, at: Date) {
  const manifest = datasetManifestJson({ ...dataset, id: datasetId(tenant) });
  const id = hex(datasetId(tenant));
  return { id, tenant, root: hex(dataset.root), records: '8', shards: 1, manifest, createdAt: at };
}

const datasetId = (tenant: string): Uint8Array => sha256(`data set of ${tenant}`);

export interface SimulatedJob {
  readonly id: string;
  readonly escrowId: string;
  readonly tenant: string;
  readonly segments: number;
  readonly input: NewJob;
  readonly spec: JobSpec;
  readonly manifest: Manifest;
}

/** @param at  unix seconds; the escrow can be accepted for five minutes from then */
export function makeJob(random: Random, tenant: string, number: number, at: number): SimulatedJob {
  const manifest = random.pick(manifests);
  const spec: JobSpec = {
    version: 1,
    manifest: canonicalManifest(manifest),
    dataset: { id: datasetId(tenant), root: dataset.root, records: 8, shards: 1 },
    segmentSteps,
    scheme: 'state-keccak',
    policyDigest,
    assurance: 'tee',
    recipient: word(9),
    settlement: { chainId, contract },
    salt: random.bytes(32),
    proving: null,
  };
  const segments = manifest.steps / segmentSteps;
  const terms = termsOf(spec, random, segments, at);
  const input: NewJob = {
    spec: Buffer.from(encodeJobSpec(spec)),
    terms: termsJson(terms) as NewJob['terms'],
    policy,
    brokerUrl: 'http://127.0.0.1:9',
    idempotencyKey: `order-${number}`,
    priority: random.pick([5, 5, 5, 6, 9]),
    requirements: random.chance(0.2) ? { cores: random.pick([1, 2, 4]) } : {},
  };
  return { id: hex(jobIdOf(spec)), escrowId: hex(jobDigest(terms)), tenant, segments, input, spec, manifest };
}

function termsOf(spec: JobSpec, random: Random, segments: number, at: number): Terms {
  return teeTerms({
    client: sha256('test client account').subarray(0, 20),
    provider: anyone,
    keyBroker: broker,
    specDigest: jobIdOf(spec),
    initialWeights: weights(0),
    policy: spec.policyDigest,
    segments,
    seedCommitClient: random.bytes(32),
    acceptBy: at + 300,
    windows: { start: 120, compute: 600 },
  });
}

/** The state after a step of the one true run. */
function weights(step: number): Uint8Array {
  return sha256(`weights ${step}`);
}

/** Segment `index` of the true run, signed by the session's receipt key. */
export async function segmentOf(job: SimulatedJob, index: number): Promise<SignedStatement> {
  const stepFrom = index * segmentSteps;
  const statement = {
    jobId: fromHex(job.id),
    programDigest: manifestDigest(job.manifest),
    datasetRoot: job.spec.dataset.root,
    stepFrom,
    stepCount: segmentSteps,
    weightsBefore: weights(stepFrom),
    weightsAfter: weights(stepFrom + segmentSteps),
  };
  const receipt = await signReceipt(
    statement,
    receiptKey,
    (message) => new Uint8Array(signWith(null, message, receiptSigner)),
  );
  return { statement: base64(encodeStepStatement(statement)), receipt: base64(receipt) };
}

export interface SimulatedSession {
  readonly evidence: Uint8Array;
  readonly provider: Uint8Array;
}

/** Evidence that the simulated appraiser accepts; its kind says that it is simulated. */
export function sessionOf(provider: string): SimulatedSession {
  const account = fromHex(provider);
  const transportKey = word(0x77);
  const evidence = encodeSessionEvidence({
    version: 1,
    nonce: word(1),
    binding: { receiptKey, settlementKey, transportKey, provider: account, chainId, registry },
    cpu: { kind: 'simulated-snp', report: new Uint8Array(1), certificates: [] },
    gpus: [],
    claims: new Uint8Array(),
  });
  return { evidence, provider: account };
}

/** What the data owner's broker signs for this session and escrow. */
export function releaseOf(escrowId: string, session: SimulatedSession) {
  const enclaveKey = enclaveKeyWord(settlementKey);
  const evidence = sha256(session.evidence);
  const release = { job: fromHex(escrowId), enclaveKey, shardsDigest: word(0x44) };
  const notAfter = 4_000_000_000;
  const appraisal = { key: settlementKey, policy: policyDigest, provider: session.provider, evidence, notAfter };
  const escrow = domainSeparator({ chainId, verifyingContract: contract });
  const registered = registryDomainSeparator({ chainId, verifyingContract: registry });
  return {
    release: {
      account: hex(broker),
      job: escrowId,
      enclaveKey: hex(enclaveKey),
      shardsDigest: hex(release.shardsDigest),
      releaseSignature: sign(releaseDigest(escrow, release)),
      key: hex(settlementKey),
      policy: hex(policyDigest),
      provider: hex(session.provider),
      evidence: hex(evidence),
      notAfter,
      appraisalSignature: sign(appraisalDigest(registered, appraisal)),
    },
    result: '',
  };
}

const signatures = new Map<string, string>();

/** Signing is deterministic: what was signed once is not signed again. */
function sign(digest: Uint8Array): string {
  const key = hex(digest);
  const known = signatures.get(key);
  if (known !== undefined) return known;
  const made = signNow(digest);
  if (signatures.size < 1000) signatures.set(key, made);
  return made;
}

function signNow(digest: Uint8Array): string {
  const signature = secp256k1.sign(digest, brokerSecret, { prehash: false, format: 'recovered' });
  return hex(new Uint8Array([...signature.subarray(1), 27 + signature[0]!]));
}

/** @param blob  digest of the result's ciphertext, which differs from run to run */
export function deliveryOf(job: SimulatedJob, blob: string) {
  const borders = Array.from({ length: job.segments + 1 }, (_, index) => weights(index * segmentSteps));
  const delivery = hex(deliveryDigest(fromHex(blob), word(5)));
  const last = hex(borders.at(-1)!);
  return {
    result: { blob, bytes: 64, keyCommit: hex(word(5)) },
    run: { upTo: job.segments, outcome: 0 as const, bordersRoot: hex(bordersRoot(borders)), last, delivery },
    seal: base64(new Uint8Array(69)),
    borders: borders.map(hex),
    receipts: [],
    timings: { train: 1 },
    transactions: [],
  };
}
