/** Simulated jobs: real specs, terms, receipts and signatures, under keys that are made for tests. */
import { createPrivateKey, sign as signWith } from 'node:crypto';
import {
  bordersRoot,
  datasetManifestJson,
  deliveryDigest,
  encodeJobSpec,
  encodeStepStatement,
  fromHex,
  jobDigest,
  jobIdOf,
  signReceipt,
  termsJson,
  type DatasetManifest,
  type JobSpec,
  type Terms,
} from '#attestation';
import { canonicalManifest, manifestDigest, profileManifest, type Manifest } from '#libs/step';
import type { SignedStatement } from '#libs/messaging';
import { teeTerms } from '#test/escrow-terms';
import {
  addressOf,
  base64,
  hex,
  madeDataset,
  madeRelease,
  madeRenewal,
  madeSession,
  madeShape,
  madeSpec,
  policy,
  receiptKey,
  receiptSecret,
  segmentSteps,
  sha256,
  weights,
  word,
  type MadeSession,
} from '#test/made-session';
import type { NewJob } from '../../apps/control-plane/src/jobs/jobs.service.js';
import type { Random } from './random.js';

/** PKCS #8 around the 32 bytes of an Ed25519 key (RFC 8410). */
const receiptSigner = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), receiptSecret]),
  format: 'der',
  type: 'pkcs8',
});
const brokerSecret = sha256('test broker account');
const anyone = new Uint8Array(20);

/** By their number of segments. */
const manifests = [1, 1, 2, 3].map((segments): Manifest =>
  profileManifest('fx1', { ...madeShape, steps: segments * segmentSteps }),
);

export const dataset: DatasetManifest = {
  ...madeDataset,
  id: word(0x1d),
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
    ...madeSpec,
    manifest: canonicalManifest(manifest),
    dataset: { id: datasetId(tenant), root: dataset.root, records: dataset.records, shards: 1 },
    salt: random.bytes(32),
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
    keyBroker: addressOf(brokerSecret),
    specDigest: jobIdOf(spec),
    initialWeights: weights(0),
    policy: spec.policyDigest,
    segments,
    seedCommitClient: random.bytes(32),
    acceptBy: at + 300,
    windows: { start: 120, compute: 600 },
  });
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

/** @param round  1 with the key release, then one more with every renewal */
export const sessionOf = (provider: string, round = 1): MadeSession => madeSession(fromHex(provider), { nonce: round });

/** What the data owner's broker signs. @param notAfter  unix seconds */
export const releaseOf = (escrowId: string, session: MadeSession, notAfter: number) =>
  madeRelease(escrowId, session, notAfter, brokerSecret);

export const renewalOf = (session: MadeSession, notAfter: number) => madeRenewal(session, notAfter, brokerSecret);

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
