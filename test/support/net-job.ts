/** A small table as a job of `fxt/2`: a net, a sealed data set with a validation set, and the job on both. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keccak, to0x, utf8 } from '#attestation/base';
import {
  JobMode,
  netShardAssociatedData,
  sealedDatasetJson,
  type JobSpec,
  type NetDatasetManifest,
  type ShardSet,
} from '#attestation/records';
import { shardPath } from '#libs/client';
import { sealShard } from '#libs/sealing';
import {
  canonicalManifest,
  dataDigest,
  initialWeights,
  netDatasetRoot,
  parseDataHeader,
  parseNetManifest,
  recordBytes,
  type DataHeader,
  type NetManifest,
} from '#libs/step';
import { jobCommitments } from '#libs/zk/commit';
import { jobRequest, tinyJob, type TinyJob } from './tiny-job.js';
import { grantTo, present, type Keyed } from './tiny-release.js';

const features = 4;
const classes = 2;

/** Two classes of four numbers, which it learns within a few steps. */
export function tableNet(changes: Readonly<Record<string, unknown>> = {}): NetManifest {
  return parseNetManifest({
    ...{ fxt: 2, seed: `0x${'5a'.repeat(32)}`, batch: 4, steps: 24, superblock: 2, a: 8, g: 12, wint: 3 },
    input: { shape: [features], dtype: 'uint8', frac: 8 },
    layers: [{ op: 'dense', out: 8 }, { op: 'relu' }, { op: 'dense', out: classes }],
    loss: { kind: 'softmax-ce', E: 12, k: 28 },
    optimizer: { kind: 'sgd', momentum: [3, 3], lr: { frac: 16, points: [[0, 6554]] } },
    evaluate: { every: 8, metrics: ['accuracy', 'loss'] },
    ...changes,
  });
}

export interface TableData {
  readonly manifest: NetDatasetManifest;
  readonly key: Uint8Array;
  /** Those of the training set first. */
  readonly shards: readonly Uint8Array[];
}

/** Class 1 where the first feature is above the second. */
export function tableRecords(count: number, salt: number): Uint8Array {
  const random = keccak(Uint8Array.of(salt));
  const records = new Uint8Array(count * (features + 1));
  for (let row = 0; row < count; row++) {
    const record = records.subarray(row * (features + 1));
    for (let at = 0; at < features; at++) record[at] = (random[(row * 7 + at * 3) % 32]! * (row + 3) + at * 91) & 255;
    record[features] = record[0]! > record[1]! ? 1 : 0;
  }
  return records;
}

interface TableOptions {
  /** Tells data sets apart. */
  readonly salt?: number;
  /** Of the training set. */
  readonly records?: number;
  readonly header?: Partial<DataHeader>;
}

/** Records in two shards, 32 unless it is said, and 16 to validate on in one. */
export async function tableData(
  m: NetManifest,
  { salt = 1, records: count = 32, header: changes = {} }: TableOptions = {},
): Promise<TableData> {
  const header = parseDataHeader({
    ...{ layout: 2, features: { dtype: 'uint8', shape: [features], frac: 8 } },
    ...{ label: { kind: 'class', classes, columns: [] }, columns: [], split: 'given', tokenizer: null },
    ...changes,
  });
  const [id, key] = [keccak(Uint8Array.of(salt, 2)), keccak(Uint8Array.of(salt, 3))];
  const sealing = { m, header, id, key };
  const training = await sealedSet(sealing, 'training', tableRecords(count, salt), m.batch * m.superblock, 2);
  const held = await sealedSet(sealing, 'validation', tableRecords(16, salt + 100), m.evaluate?.batch ?? m.batch, 1);
  const { batch, superblock } = m;
  const manifest: NetDatasetManifest = {
    ...{ version: 2, id, header, batch, superblock, recordBytes: recordBytes(m) },
    ...{ root: training.root, records: count, shards: training.entries },
    validation: { root: held.root, records: 16, batch: m.evaluate?.batch ?? m.batch, shards: held.entries },
  };
  return { manifest, key, shards: [...training.shards, ...held.shards] };
}

interface Sealing {
  readonly m: NetManifest;
  readonly header: DataHeader;
  readonly id: Uint8Array;
  readonly key: Uint8Array;
}

async function sealedSet(
  { m, header, id, key }: Sealing,
  set: ShardSet,
  records: Uint8Array,
  unit: number,
  count: number,
) {
  const block = unit * recordBytes(m);
  const digests: Uint8Array[] = [];
  for (let at = 0; at < records.length; at += block) {
    digests.push(await dataDigest('state-keccak', at / block, records.subarray(at, at + block)));
  }
  const root = netDatasetRoot(header, digests);
  const size = records.length / count;
  const shards: Uint8Array[] = [];
  const entries: NetDatasetManifest['shards'][number][] = [];
  for (let place = 0; place < count; place++) {
    const nonce = new Uint8Array(12).fill(place + (set === 'training' ? 1 : 9));
    const bound = netShardAssociatedData({ id, root, set, count }, place);
    const ciphertext = await sealShard(bound, records.subarray(place * size, (place + 1) * size), { key, nonce });
    shards.push(ciphertext);
    const sha256 = new Uint8Array(createHash('sha256').update(ciphertext).digest());
    entries.push({ records: size / recordBytes(m), bytes: ciphertext.length, nonce, sha256 });
  }
  return { root, shards, entries };
}

/** As a data owner has it. @returns the folder of the sealed data set */
export function writeTable({ manifest, key, shards }: TableData, folder: string, keyFile: string): string {
  mkdirSync(folder, { recursive: true });
  shards.forEach((bytes, index) => writeFileSync(shardPath(folder, index), bytes));
  writeFileSync(join(folder, 'dataset.json'), JSON.stringify(sealedDatasetJson(manifest)));
  writeFileSync(keyFile, JSON.stringify({ datasetId: to0x(manifest.id), key: to0x(key) }), { mode: 0o600 });
  return folder;
}

export interface NetJob extends TinyJob {
  readonly net: NetManifest;
  readonly data: TableData;
}

interface NetJobOptions {
  readonly net?: NetManifest;
  readonly data?: TableData;
  readonly spec?: Partial<JobSpec>;
}

export async function netJob(options: NetJobOptions = {}): Promise<NetJob> {
  const { net = tableNet() } = options;
  const { data = await tableData(net) } = options;
  const { id, root, records, shards, validation } = data.manifest;
  const spec: Partial<JobSpec> = {
    manifest: canonicalManifest(net),
    dataset: { id, root, records, shards: shards.length },
    ...(net.evaluate !== null && { validation: { root: validation!.root, records: validation!.records } }),
    ...options.spec,
  };
  const commitments = jobCommitments({ scheme: 'state-keccak', proving: null }, net, null);
  const job = await tinyJob({
    ...{ segmentSteps: 8, spec },
    terms: {
      ...{ segments: net.steps / 8, initialWeights: commitments.border(0, initialWeights(net)) },
      mode: JobMode.tee | JobMode.reveal | (net.stop === null ? 0 : JobMode.early),
    },
  });
  // Whoever grants a key reads of the data set its id and key alone.
  const dataset = { ...job.dataset, manifest: { ...job.dataset.manifest, id }, key: data.key };
  return { ...job, dataset, net, data };
}

/** What the enclave is handed as the data set's public face. */
export function tableBytes({ manifest }: TableData): Uint8Array {
  return utf8(JSON.stringify(sealedDatasetJson(manifest)));
}

/** A session that holds the job and all its shards. */
export async function keyedNet(job: NetJob): Promise<Keyed> {
  const party = await present();
  const granted = await grantTo(job, party);
  await party.session.request('job', { ...jobRequest(job, granted), dataset: tableBytes(job.data) });
  for (const [index, ciphertext] of job.data.shards.entries()) {
    await party.session.request('shard', { index, ciphertext });
  }
  return { ...party, granted };
}
