/** Simulated jobs of every kind: real specs and terms, and the weights that an undisturbed run of each goes through. */
import { fromHex, to0x, toBase64 } from '#attestation/base';
import {
  bordersRoot,
  chunkListDigest,
  datasetManifestJson,
  deliveryDigest,
  encodeJobSpec,
  escrowIdOf,
  jobIdOf,
  JobMode,
  runKeysDigest,
  specDigestOf,
  termsJson,
  workersOf,
  type DatasetManifest,
  type JobSpec,
  type Terms,
} from '#attestation/records';
import { planOf } from '#libs/proof';
import { canonicalManifest, divideSteps, profileManifest, type Manifest } from '#libs/step';
import type { SignedStatement } from '#libs/wire';
import { teeTerms } from '#test/escrow-terms';
import {
  addressOf,
  madeDataset,
  madeRelease,
  madeRenewal,
  madeSession,
  madeShape,
  madeSpec,
  policy,
  segmentSteps,
  settlementKey,
  sha256,
  weights,
  word,
  type JobOfSession,
  type MadeSession,
} from '#test/made-session';
import type { NewJob } from '../../apps/control-plane/src/jobs/jobs.service.js';
import type { Random } from './random.js';

const brokerSecret = sha256('test broker account');
const anyone = new Uint8Array(20);
const workers = 2;
const samples = 2;
const profile = 'fast16';
const variant = 'separate' as const;

/** `parallel`: several workers train it in rounds; the last three are proved. */
const jobKinds = ['plain', 'parallel', 'zk', 'tee+zk', 'sampled'] as const;
type JobKind = (typeof jobKinds)[number];

/** Of 24 jobs. */
export const mix: readonly JobKind[] = [
  ...Array.from({ length: 19 }, () => 'plain' as const),
  ...(['parallel', 'parallel', 'zk', 'tee+zk', 'sampled'] as const),
];

/** By their number of segments, or of rounds. */
const plainManifests = [1, 1, 2, 3].map((segments): Manifest => ofSteps(segments * segmentSteps));
const parallelManifests = [1, 2].map((rounds): Manifest => ofSteps(rounds * workers * segmentSteps));
/** In segments of one superblock, each under its plan. */
const provedManifests = [1, 2, 3].map((steps) => {
  const manifest = profileManifest('fx1', { ...madeShape, e: 5, steps });
  return { manifest, proving: { profile, variant, planDigest: planOf({ manifest, profile, variant }).digest } };
});

function ofSteps(steps: number): Manifest {
  return profileManifest('fx1', { ...madeShape, steps });
}

const plainDataset: DatasetManifest = {
  ...madeDataset,
  id: word(0x1d),
  shards: [{ records: 8, bytes: 56, nonce: new Uint8Array(12), sha256: word(0x5a) }],
};
const commitment = { root: word(0xc0), ood: word(0) };
const provedDataset: DatasetManifest = {
  ...plainDataset,
  scheme: 'fxt-zk/1',
  proving: { profile, commitments: [commitment, commitment] },
};
export const [shard] = plainDataset.shards;

const datasetId = (tenant: string, isProved: boolean): Uint8Array =>
  sha256(`${isProved ? 'provable ' : ''}data set of ${tenant}`);

/** One for plain jobs, one for those that are proved. */
export function datasetRows(tenant: string, at: Date) {
  return [false, true].map((isProved) => {
    const dataset = { ...(isProved ? provedDataset : plainDataset), id: datasetId(tenant, isProved) };
    const [id, root] = [to0x(dataset.id), to0x(dataset.root)];
    return { id, tenant, root, records: '8', shards: 1, manifest: datasetManifestJson(dataset), createdAt: at };
  });
}

export interface SimulatedJob {
  readonly id: string;
  readonly escrowId: string;
  readonly tenant: string;
  readonly kind: JobKind;
  readonly input: NewJob;
  readonly spec: JobSpec;
  readonly manifest: Manifest;
  /** 1 but for data-parallel jobs. */
  readonly workers: number;
  /** Between two borders. */
  readonly steps: number;
  /** Weights at every border of an undisturbed run, the first and the last included. */
  readonly borders: readonly Uint8Array[];
  /** Segments that the escrow draws. */
  readonly samples: number;
}

interface Order {
  readonly tenant: string;
  readonly number: number;
  /** Unix seconds; the escrow can be accepted for five minutes from then. */
  readonly at: number;
  readonly kind: JobKind;
  /** Account that a data-parallel job names. */
  readonly provider: string;
}

export function makeJob(random: Random, { tenant, number, at, kind, provider }: Order): SimulatedJob {
  const [manifest, shape] = shapeOf(kind, random);
  const isProved = shape.proving !== undefined;
  const spec: JobSpec = {
    ...madeSpec,
    ...shape,
    manifest: canonicalManifest(manifest),
    dataset: { id: datasetId(tenant, isProved), root: plainDataset.root, records: plainDataset.records, shards: 1 },
    salt: random.bytes(32),
  };
  const { rounds, roundSteps } = divideSteps(manifest, spec);
  const named = kind === 'parallel' ? fromHex(provider) : anyone;
  const terms = termsOf(spec, random, { kind, segments: rounds, provider: named, at });
  const input: NewJob = {
    spec: Buffer.from(encodeJobSpec(spec)),
    terms: termsJson(terms) as NewJob['terms'],
    policy,
    brokerUrl: 'http://127.0.0.1:9',
    idempotencyKey: `order-${number}`,
    priority: random.pick([5, 5, 5, 6, 9]),
    requirements: random.chance(0.2) ? { cores: random.pick([1, 2, 4]) } : {},
    start: [],
  };
  const work = { spec, manifest, workers: workersOf(spec), steps: roundSteps };
  const borders = bordersOf(work.workers, rounds);
  const [id, escrowId] = [to0x(jobIdOf(spec)), to0x(escrowIdOf(terms))];
  return { id, escrowId, tenant, kind, input, ...work, borders, samples: terms.samples };
}

function shapeOf(kind: JobKind, random: Random): [manifest: Manifest, shape: Partial<JobSpec>] {
  if (kind === 'plain') return [random.pick(plainManifests), {}];
  if (kind === 'parallel') return [random.pick(parallelManifests), { parallel: workers }];
  const { manifest, proving } = random.pick(provedManifests);
  return [manifest, { proving, scheme: 'fxt-zk/1', assurance: kind, segmentSteps: 1 }];
}

interface Agreed {
  readonly kind: JobKind;
  readonly segments: number;
  readonly provider: Uint8Array;
  readonly at: number;
}

const modes: Readonly<Partial<Record<JobKind, number>>> = {
  zk: JobMode.full,
  'tee+zk': JobMode.tee | JobMode.full | JobMode.reveal,
  sampled: JobMode.sample,
};

function termsOf(spec: JobSpec, random: Random, { kind, segments, provider, at }: Agreed): Terms {
  return teeTerms({
    client: sha256('test client account').subarray(0, 20),
    provider,
    keyBroker: addressOf(brokerSecret),
    specDigest: specDigestOf(spec),
    initialWeights: weights(0),
    policy: spec.policyDigest,
    segments,
    seedCommitClient: random.bytes(32),
    acceptBy: at + 300,
    windows: { start: 120, compute: 600 },
    mode: modes[kind] ?? JobMode.tee | JobMode.reveal,
    samples: kind === 'sampled' ? samples : 0,
  });
}

/** What a segment makes of the weights that it starts from. */
export const trained = (before: Uint8Array, segment: number): Uint8Array => sha256(`${to0x(before)} ${segment}`);

export const averaged = (ends: readonly Uint8Array[]): Uint8Array => sha256(ends.map(to0x).join());

function bordersOf(count: number, rounds: number): readonly Uint8Array[] {
  const borders = [weights(0)];
  for (let round = 0; round < rounds; round += 1) {
    const before = borders.at(-1)!;
    const ends = Array.from({ length: count }, (_, worker) => trained(before, round * count + worker));
    borders.push(count === 1 ? ends[0]! : averaged(ends));
  }
  return borders;
}

/** @param round  1 with the key release, then one more with every renewal @param claims  tells sessions apart */
export const sessionOf = (provider: string, round = 1, claims = ''): Promise<MadeSession> =>
  madeSession(fromHex(provider), { nonce: round, claims });

/** What the data owner's broker signs. @param notAfter  unix seconds */
export const releaseOf = (job: JobOfSession, session: MadeSession, notAfter: number) =>
  madeRelease(job, session, notAfter, brokerSecret);

export const renewalOf = (job: JobOfSession, session: MadeSession, notAfter: number) =>
  madeRenewal(job, session, notAfter, brokerSecret);

/** Nothing is revealed for what no enclave has sealed. */
const isSealed = ({ kind }: SimulatedJob): boolean => kind !== 'zk' && kind !== 'sampled';

/**
 * @param blob  name of the result's ciphertext, which differs from run to run
 * @param content  that ciphertext, less than a chunk
 * @param receipts  that no checkpoint brought
 */
export function deliveryOf(job: SimulatedJob, blob: string, content: Uint8Array, receipts: readonly SignedStatement[]) {
  const { borders } = job;
  const ciphertextDigest = chunkListDigest(content.length, [sha256(content)]);
  const delivery = to0x(isSealed(job) ? deliveryDigest(ciphertextDigest, word(5)) : new Uint8Array(32));
  const keys = to0x(isSealed(job) ? runKeysDigest([settlementKey]) : new Uint8Array(32));
  const last = to0x(borders.at(-1)!);
  const upTo = borders.length - 1;
  return {
    result: { blob, bytes: content.length, ciphertextDigest: to0x(ciphertextDigest), keyCommit: to0x(word(5)) },
    run: { upTo, outcome: 0 as const, bordersRoot: to0x(bordersRoot(borders)), last, delivery, keys },
    seal: isSealed(job) ? toBase64(new Uint8Array(69)) : '',
    borders: borders.map(to0x),
    receipts: [...receipts],
    timings: { train: 1 },
    transactions: [],
  };
}
