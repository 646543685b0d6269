/** Bundles of tiny jobs whose steps are really proved: trained and proved by the prover worker's own code. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromHex } from '#attestation/base';
import {
  bordersRoot,
  datasetManifestJson,
  domainSeparator,
  dutySelectorOf,
  encodeBundle,
  encodeJobSpec,
  encodeTerms,
  escrowIdOf,
  JobMode,
  noEndorsementRecord,
  type Assurance,
  type EvidenceBundle,
} from '#attestation/records';
import { openShard } from '#libs/sealing';
import { createEngine, KernelBackend } from '#libs/zk';
import { openJob, type Limits } from '../../apps/prover-worker/src/compute/job.js';
import { prove } from '../../apps/prover-worker/src/compute/prove.js';
import { train, type Border } from '../../apps/prover-worker/src/compute/train.js';
import { groth16Cache } from '../../apps/prover-worker/src/proving/groth16-cache.js';
import { makeKey } from '../../apps/prover-worker/src/proving/key-request.js';
import { groth16Manifest } from './small-groth16.js';
import { tinyBundle } from './tiny-bundle.js';
import {
  chainId,
  contract,
  hostSecret,
  policyBytes,
  tinyDataset,
  tinyJob,
  tinyManifest,
  type TinyJob,
  type TinyJobOptions,
} from './tiny-job.js';

const proofsOfSegments = {
  manifest: tinyManifest({ steps: 8, superblock: 4 }),
  ...{ segmentSteps: 4, profile: 'fast16', rowLogMax: 14 },
};

/** Of sixty-four steps in segments of two; the second ends the job in its fourth. */
const proofsOfUnits = {
  manifest: tinyManifest({ steps: 72, superblock: 2 }),
  ...{ segmentSteps: 64, profile: 'unit64', rowLogMax: 16 },
};

const windows = {
  ...{ start: 3600, compute: 3600, finality: 0, draw: 0, challenge: 3600, prove: 7200, provePer: 600, hold: 0 },
  ...{ reveal: 3600, ack: 3600, drawBlocks: 0 },
};

/** Of a job in scheme `fxt-zk/1`; `sampled`: the second segment alone is proved. `tee+zk`: beside two enclave sessions. */
export async function provedBundle(
  assurance: Exclude<Assurance, 'tee'>,
  { manifest, segmentSteps, profile, rowLogMax } = proofsOfSegments,
): Promise<Uint8Array> {
  const dataset = await tinyDataset(manifest, { proving: profile });
  const mode = assurance === 'sampled' ? JobMode.sample : JobMode.full;
  const isEnclaves = assurance === 'tee+zk';
  const options: TinyJobOptions = {
    ...{ manifest, dataset, segmentSteps, spec: { assurance } },
    terms: {
      mode: isEnclaves ? mode | JobMode.tee | JobMode.reveal : mode,
      dutySelectors: [dutySelectorOf({ scheme: 'fxt-zk/1' })],
      samples: assurance === 'sampled' ? 1 : 0,
      windows,
    },
  };
  const engine = createEngine({ rowLogMax });
  const first = assurance === 'sampled' ? 1 : 0;
  if (!isEnclaves) return encodeBundle(await bundleOf(await tinyJob(options), engine, { first }));
  const { job, bundle } = await tinyBundle(options);
  const { segments } = await bundleOf(job, engine, { first });
  const signed = bundle.segments.map((segment, index) => ({ ...segment, proof: segments[index]!.proof }));
  return encodeBundle({ ...bundle, segments: signed });
}

/** Two proofs of several segments each. */
export const unitsBundle = (): Promise<Uint8Array> => provedBundle('zk', proofsOfUnits);

const small = { ...groth16Manifest, steps: 2 };

export interface MadeKey {
  /** Folder of keys. */
  readonly folder: string;
  /** 0x-hexadecimal. */
  readonly plan: string;
  /** Digest of the key with its circuit, 0x-hexadecimal. */
  readonly verificationKey: string;
  /** What a reader who trusts the key lays beside a bundle. */
  readonly document: Uint8Array;
}

/** A key that this machine makes, and the same once more as if it came out of a ceremony. */
export async function groth16Keys(): Promise<readonly [development: MadeKey, external: MadeKey]> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-groth16-keys-'));
  const order = { manifest: small, folder, memoryMiB: 4096 };
  const first = await makeKey(order);
  const pinned = (path: string) => ({ path, sha256: createHash('sha256').update(readFileSync(path)).digest('hex') });
  const ceremony = {
    ptau: pinned(join(groth16Cache, 'UNSAFE-development-11.ptau')),
    zkey: pinned(join(first.folder, 'zkey')),
  };
  const second = await makeKey({ ...order, ...ceremony });
  const shown = (made: Awaited<ReturnType<typeof makeKey>>): MadeKey => ({
    ...{ folder, plan: made.plan, verificationKey: made.verificationKey },
    ...{ document: new Uint8Array(readFileSync(join(made.folder, 'key.json'))) },
  });
  return [shown(first), shown(second)];
}

/** Of a job in scheme `fxt-groth16/1`. */
export async function groth16Bundle({ folder, plan }: MadeKey): Promise<Uint8Array> {
  const dataset = await tinyDataset(small, { groth16: true });
  const job = await tinyJob({
    ...{ manifest: small, dataset, segmentSteps: 1, groth16Plan: fromHex(plan) },
    terms: { mode: JobMode.full, dutySelectors: [dutySelectorOf({ scheme: 'fxt-groth16/1' })] },
  });
  return encodeBundle(await bundleOf(job, createEngine({ rowLogMax: 10 }), { first: 0, groth16Keys: folder }));
}

interface Proving extends Pick<Limits, 'groth16Keys'> {
  /** Segment from which on all are proved. */
  readonly first: number;
}

async function bundleOf(
  job: TinyJob,
  engine: ReturnType<typeof createEngine>,
  { first, groth16Keys }: Proving,
): Promise<EvidenceBundle> {
  const { dataset, spec, terms } = job;
  const shards = dataset.shards.map((shard, index) => openShard(dataset.manifest, index, shard, dataset.key));
  const opened = openJob(
    {
      spec: encodeJobSpec(spec),
      dataset: datasetManifestJson(dataset.manifest),
      escrow: { domain: domainSeparator({ chainId, verifyingContract: contract }), job: escrowIdOf(terms) },
      ...{ initialWeights: terms.initialWeights, dataKey: dataset.key, hostSecret },
      records: new Uint8Array(Buffer.concat(await Promise.all(shards))),
    },
    { threads: 1, memoryMiB: 2048, groth16Keys },
  );
  const backend = new KernelBackend(engine);
  const reached: Border[] = [];
  const { borders } = await train(backend, opened, null, (border) => void reached.push(border));
  const segments: EvidenceBundle['segments'][number][] = [];
  for (const [index, { statement }] of reached.entries()) {
    const checkpoint = index === 0 ? null : reached[index - 1]!.checkpoint;
    const made = index < first ? null : await prove(backend, opened, { index, statement, checkpoint }, () => undefined);
    const proof = made && { bytes: made.bundle, document: made.document };
    segments.push({ statement, signed: null, proof, partials: [] });
  }
  const none = new Uint8Array(32);
  return {
    ...{ version: 4, spec: encodeJobSpec(spec), terms: encodeTerms(terms), policy: policyBytes(job), sessions: [] },
    ...{ endorsements: noEndorsementRecord, segments },
    run: {
      ...{ upTo: reached.length, outcome: 0, bordersRoot: bordersRoot(borders), last: borders.at(-1)! },
      ...{ delivery: none, keys: none },
    },
    seal: null,
    delivery: { ciphertextDigest: none, keyCommit: none },
    settlement: { transactions: [] },
  };
}
