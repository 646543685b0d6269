/** A small job with everything that belongs to it: data set, spec, terms, receipts. All keys are for tests. */
import { randomBytes } from 'node:crypto';
import * as ed25519 from '@noble/ed25519';
import { ed25519Signer, fromHex, to0x, toBase64 } from '#attestation/base';
import {
  bordersRoot,
  chunkListDigest,
  datasetManifestJson,
  deliveryDigest,
  encodeJobSpec,
  encodeStepStatement,
  escrowIdOf,
  jobIdOf,
  JobMode,
  parseJobSpec,
  runKeysDigest,
  signReceipt,
  specDigestOf,
  termsJson,
  type DatasetManifest,
  type JobSpec,
  type StepStatement,
  type Terms,
} from '#attestation/records';
import { canonicalManifest, manifestDigest, profileManifest, type Manifest } from '#libs/step';
import { LeaseGrant, pattern } from '#libs/wire';
import { teeTerms } from '#test/escrow-terms';
import {
  addressOf,
  madeDataset,
  madeRelease,
  madeRenewal,
  madeSession,
  madeShape,
  madeSpec,
  noEndorsements,
  policy,
  receiptKey,
  receiptSecret,
  segmentSteps,
  sha256,
  weights,
  word,
  type JobOfSession,
  type SessionOptions,
} from '#test/made-session';
import type { TestPlane } from './harness.js';

export { receiptKey, receiptSecret, segmentSteps, sha256, weights };

/** The account that each operator's key is bound to. */
export const providers = { operator: `0x${'11'.repeat(20)}`, otherOperator: `0x${'99'.repeat(20)}` };
export const provider = fromHex(providers.operator);
const clientSecret = sha256('test client account');
const brokerSecret = sha256('test broker account');
const session = await madeSession(provider);
const evidence = toBase64(session.evidence);
/** What a node reports of a session that it shows. */
export const shown = { evidence, endorsements: noEndorsements };
const shownWith = async (claims: string) => ({
  evidence: toBase64((await madeSession(provider, { claims })).evidence),
  endorsements: noEndorsements,
});
/** The same of one that the test appraiser refuses. */
export const shownInVain = await shownWith('refused');
/** The same of one whose hardware the test appraiser finds simulated. */
export const shownSimulated = await shownWith('of no hardware');

export const manifest: Manifest = profileManifest('fx1', { ...madeShape, steps: 6 });

export interface Fixture {
  readonly dataset: DatasetManifest;
  readonly shards: readonly Uint8Array[];
  readonly spec: JobSpec;
  readonly terms: Terms;
  readonly jobId: string;
  readonly escrowId: string;
  /** Body of POST /v1/jobs. */
  readonly body: { spec: string; terms: Record<string, unknown>; policy: string; brokerUrl: string };
}

interface Changes {
  readonly dataset?: Partial<DatasetManifest>;
  readonly manifest?: Uint8Array;
  readonly spec?: Partial<JobSpec>;
  readonly terms?: Partial<Terms>;
  /** Whose digest `spec` names. */
  readonly policy?: Uint8Array;
}

/** @param clock  seconds now; terms are open for an hour */
export function makeJob(clock: number, changes: Changes = {}): Fixture {
  const shards = [randomBytes(36), randomBytes(36)].map((bytes) => new Uint8Array(bytes));
  const dataset: DatasetManifest = {
    ...madeDataset,
    id: new Uint8Array(randomBytes(32)),
    shards: shards.map((bytes) => ({ records: 4, bytes: 36, nonce: new Uint8Array(12), sha256: sha256(bytes) })),
    ...changes.dataset,
  };
  const spec: JobSpec = {
    ...madeSpec,
    manifest: changes.manifest ?? canonicalManifest(manifest),
    dataset: { id: dataset.id, root: dataset.groth16?.root ?? dataset.root, records: 8, shards: 2 },
    salt: new Uint8Array(randomBytes(32)),
    ...changes.spec,
  };
  const terms = termsOf(spec, clock, changes.terms);
  return {
    dataset,
    shards,
    spec,
    terms,
    jobId: to0x(jobIdOf(spec)),
    escrowId: to0x(escrowIdOf(terms)),
    body: {
      spec: toBase64(encodeJobSpec(spec)),
      terms: termsJson(terms),
      policy: toBase64(changes.policy ?? policy),
      brokerUrl: 'http://127.0.0.1:9',
    },
  };
}

function termsOf(spec: JobSpec, clock: number, changes: Partial<Terms> = {}): Terms {
  return {
    ...teeTerms({
      client: addressOf(clientSecret),
      provider,
      keyBroker: addressOf(brokerSecret),
      specDigest: specDigestOf(spec),
      initialWeights: weights(0),
      policy: spec.policyDigest,
      segments: 3,
      seedCommitClient: new Uint8Array(randomBytes(32)),
      acceptBy: clock + 3600,
      windows: { start: 600, compute: 7200 },
    }),
    ...changes,
  };
}

/** A job on the same records in scheme `fxt-groth16/1`, under a plan that nobody looks into. */
export function groth16Changes(plan: Uint8Array, spec: Partial<JobSpec> = {}): Changes {
  const root = word(17);
  const proving = { profile: 'groth16', variant: 'joint' as const, planDigest: plan };
  return {
    dataset: { groth16: { root, commitments: [word(18), word(19)] } },
    spec: { assurance: 'zk', scheme: 'fxt-groth16/1', proving, segmentSteps: 1, ...spec },
    terms: { segments: 6, mode: JobMode.full },
  };
}

/** Segment `index` of the true run, signed. */
export async function segment(
  job: Fixture,
  index: number,
  changes: Partial<StepStatement> = {},
  secret = receiptSecret,
) {
  const stepFrom = index * segmentSteps;
  const statement: StepStatement = {
    jobId: jobIdOf(job.spec),
    programDigest: manifestDigest(manifest),
    datasetRoot: job.spec.dataset.root,
    stepFrom,
    stepCount: segmentSteps,
    weightsBefore: weights(stepFrom),
    weightsAfter: weights(stepFrom + segmentSteps),
    ...changes,
  };
  const receipt = await signReceipt(statement, await ed25519.getPublicKeyAsync(secret), ed25519Signer(secret));
  return { statement: toBase64(encodeStepStatement(statement)), receipt: toBase64(receipt) };
}

export async function upload(test: TestPlane, job: Fixture): Promise<void> {
  const client = test.as('client');
  await client.post('/v1/datasets', { manifest: datasetManifestJson(job.dataset) }).expect(201);
  for (const [index, bytes] of job.shards.entries()) {
    await client.put(`/v1/datasets/${to0x(job.dataset.id)}/shards/${index}`, bytes).expect(204);
  }
}

export async function submit(test: TestPlane, changes: Changes = {}): Promise<Fixture> {
  const job = makeJob(test.clock.at(), changes);
  await upload(test, job);
  await test.as('client').post('/v1/jobs', job.body).expect(201);
  return job;
}

/** Submitted, and its escrow confirmed on the chain. */
export async function submitFunded(test: TestPlane, changes: Changes = {}): Promise<Fixture> {
  const job = await submit(test, changes);
  await fund(test, job);
  return job;
}

export async function fund(test: TestPlane, job: Fixture): Promise<void> {
  test.chain.mine({ escrowId: job.escrowId, name: 'JobOpened', data: { price: String(job.terms.price) } });
  await confirm(test);
}

export async function confirm(test: TestPlane): Promise<void> {
  test.chain.mine();
  test.chain.mine();
  await test.poll();
}

export const capabilities = { tee: 'simulated-snp', cores: 2, memoryMiB: 1024, version: '1' };

export async function register(test: TestPlane, name = 'node', who: 'operator' | 'otherOperator' = 'operator') {
  const node = { name, provider: providers[who], capabilities };
  return (await test.send<{ nodeId: string }>(pattern.nodeRegister, node, who)).nodeId;
}

export async function acquire(
  test: TestPlane,
  nodeId: string,
  who: 'operator' | 'otherOperator' = 'operator',
): Promise<LeaseGrant> {
  const grant = await test.send<unknown>(pattern.leaseAcquire, { nodeId, waitMs: 0 }, who);
  if (grant === null) throw new Error('no job to lease');
  return LeaseGrant.parse(grant);
}

export const refOf = ({ leaseId, fence }: LeaseGrant) => ({ leaseId, fence });

/** Digest of a stored ciphertext that the operator uploaded. */
export async function storeBlob(test: TestPlane, bytes: Uint8Array = new Uint8Array(randomBytes(64))): Promise<string> {
  const digest = to0x(sha256(bytes));
  await test.as('operator').put(`/v1/blobs/${digest}`, bytes).expect(204);
  return digest;
}

/** What a node reports of the release that the job's broker signed. */
export const keyRelease = (job: JobOfSession, secret = brokerSecret, notAfter = 1_800_000_000) =>
  madeRelease(job, session, notAfter, secret);

/** The same for another session, under the policy that the job's spec names. */
export function keyReleaseTo(job: Fixture, { evidence: bytes, notAfter }: { evidence: Uint8Array; notAfter: number }) {
  const to = { evidence: bytes, provider, settlementKey: new Uint8Array(20) };
  return madeRelease(job, to, notAfter, brokerSecret, [], job.spec.policyDigest);
}

export interface RenewalOptions extends SessionOptions {
  /** Unix seconds. */
  readonly notAfter: number;
  readonly secret?: Uint8Array;
}

/** What a node reports of a renewal that the job's broker signed. */
export async function renewalOf(job: JobOfSession, { notAfter, secret = brokerSecret, ...changes }: RenewalOptions) {
  return madeRenewal(job, await madeSession(provider, changes), notAfter, secret);
}

const jobOf = ({ job: { escrowId, spec } }: LeaseGrant): JobOfSession => ({
  escrowId,
  spec: parseJobSpec(new Uint8Array(Buffer.from(spec, 'base64'))),
});

export async function advanceTo(
  test: TestPlane,
  grant: LeaseGrant,
  state: 'attested' | 'keyed' | 'running',
): Promise<void> {
  const ref = refOf(grant);
  await test.send(pattern.leaseAttested, { ...ref, ...shown });
  if (state === 'attested') return;
  await test.send(pattern.leaseKeyed, { ...ref, release: keyRelease(jobOf(grant)) });
  if (state === 'keyed') return;
  await test.send(pattern.leaseRunning, ref);
}

export async function checkpoint(test: TestPlane, grant: LeaseGrant, job: Fixture, index: number): Promise<string> {
  const blob = await storeBlob(test);
  const step = (index + 1) * segmentSteps;
  await test.send(pattern.leaseCheckpoint, { ...refOf(grant), step, ...(await segment(job, index)), blob });
  return blob;
}

export async function deliveryOf(test: TestPlane, job: Fixture, receipts: readonly number[]) {
  const signed = [];
  for (const index of receipts) signed.push(await segment(job, index));
  const borders = [0, 2, 4, 6].map(weights);
  const blob = await storeBlob(test);
  const ciphertextDigest = chunkListDigest(64, [fromHex(blob)]);
  const run = {
    ...{ upTo: 3, outcome: 0, bordersRoot: to0x(bordersRoot(borders)), last: to0x(weights(6)) },
    ...{
      delivery: to0x(deliveryDigest(ciphertextDigest, word(5))),
      keys: to0x(runKeysDigest([session.settlementKey])),
    },
  };
  return {
    result: { blob, bytes: 64, ciphertextDigest: to0x(ciphertextDigest), keyCommit: to0x(word(5)) },
    run,
    seal: toBase64(new Uint8Array(69)),
    borders: borders.map(to0x),
    receipts: signed,
    timings: { train: 1 },
    transactions: [{ call: 'start', hash: to0x(word(3)) }],
  };
}

export const stateOf = async (
  test: TestPlane,
  job: Fixture,
): Promise<{ state: string; code: string | null; attempt: number }> =>
  (await test.as('client').get(`/v1/jobs/${job.jobId}`).expect(200)).body;
