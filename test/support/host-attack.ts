/** What a host tries that knows the records, or even holds the data key: borders that nobody trained, keys of its own. */
import { webcrypto } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import {
  keysDigest,
  encodeEvaluation,
  parseEvaluation,
  shardAssociatedData,
  signEvaluation,
  signReceipt,
  signRoundReceipt,
  type Checkpoint,
  type EvaluationStatement,
  type ReleasedSession,
} from '#attestation/records';
import { checkpointKey, openCheckpoint, sealCheckpoint, openShard } from '#libs/sealing';
import { decodeWeights, encodeWeights } from '#libs/step';
import type { EventOf } from '#libs/wire/channel';
import { jobCommitments } from '#libs/zk/commit';
import { segmentStatement } from '../../enclave/src/chain.js';
import { createSessionKeys } from '../../enclave/src/keys.js';
import {
  chainId,
  hostSecret,
  provider,
  registry,
  tinyDataset,
  tinyJob,
  tinyManifest,
  type TinyJob,
} from './tiny-job.js';
import { signRelease, type Keyed } from './tiny-release.js';
import { average, partial, segment, tinyParallelJob } from './tiny-rounds.js';
import { keyedNet, netJob, tableNet, type NetJob } from './net-job.js';

export const strangersSecret = new Uint8Array(32).fill(0xbb);
const strangersKey = new Uint8Array(32).fill(0xcc);

export const kinds = ['plain', 'zk', 'parallel'] as const;
type JobKind = (typeof kinds)[number];

/** Three segments, or rounds, each. */
export async function jobOf(kind: JobKind): Promise<TinyJob> {
  if (kind === 'plain') return tinyJob();
  if (kind === 'parallel') return tinyParallelJob(2);
  const manifest = tinyManifest({ steps: 12, superblock: 2 });
  return tinyJob({ manifest, dataset: await tinyDataset(manifest, { proving: 'fast16' }), segmentSteps: 4 });
}

/** The same records under a key of the host's. */
export async function resealed(job: TinyJob): Promise<TinyJob> {
  const { manifest, key, shards: sealed } = job.dataset;
  const aes = await webcrypto.subtle.importKey('raw', strangersKey, 'AES-GCM', false, ['encrypt']);
  const shards: Uint8Array[] = [];
  for (const [index, shard] of sealed.entries()) {
    const records = await openShard(manifest, index, shard, key);
    const associated = shardAssociatedData(manifest, index) as Uint8Array<ArrayBuffer>;
    const iv = manifest.shards[index]!.nonce as Uint8Array<ArrayBuffer>;
    const algorithm = { name: 'AES-GCM', iv, additionalData: associated };
    const plain = records as Uint8Array<ArrayBuffer>;
    shards.push(new Uint8Array(await webcrypto.subtle.encrypt(algorithm, aes, plain)));
  }
  const entries = manifest.shards.map((entry, index) => ({ ...entry, sha256: sha256(shards[index]!) }));
  return { ...job, dataset: { manifest: { ...manifest, shards: entries }, key: strangersKey, shards } };
}

/** Runs the job's first two segments, or rounds, and gives what the second left. */
export async function begun(job: TinyJob, party: Keyed): Promise<Checkpoint> {
  const sealed = job.spec.parallel === undefined ? await trainedTwice(party) : await averagedTwice(party);
  return openCheckpoint(await keyOf(job), job.jobId, sealed);
}

async function trainedTwice({ session }: Keyed): Promise<Uint8Array> {
  await session.request('train', { checkpoint: null, threads: 1 });
  await session.ended();
  const made = session.events.filter((event): event is EventOf<'checkpoint'> => event.type === 'checkpoint');
  return made[1]!.ciphertext;
}

async function averagedTwice(party: Keyed): Promise<Uint8Array> {
  let start: Uint8Array | null = null;
  for (const first of [0, 2]) {
    const partials = [await partial(party, first, start), await partial(party, first + 1, start)];
    const event = await average(
      party,
      partials.map(({ ciphertext }) => ciphertext),
      start,
    );
    if (event.type !== 'checkpoint') throw new Error(JSON.stringify(event));
    start = event.ciphertext;
  }
  return start!;
}

function keyOf(job: TinyJob): Promise<Uint8Array> {
  return checkpointKey({ dataKey: job.dataset.key, hostSecret, jobId: job.jobId });
}

export async function seal(job: TinyJob, checkpoint: Checkpoint): Promise<Uint8Array> {
  return sealCheckpoint(await keyOf(job), job.jobId, checkpoint);
}

/** One weight moved, and the last border with it. */
export function moved(job: TinyJob, { weights, borders, ...rest }: Checkpoint): Checkpoint {
  const other = weights.map((byte, at) => (at === 0 ? byte ^ 1 : byte));
  const commitments = jobCommitments(job.spec, job.manifest, { jobId: job.jobId, dataKey: job.dataset.key });
  const border = commitments.border(borders.length - 1, decodeWeights(job.manifest, other));
  return {
    ...rest,
    weights: encodeWeights(decodeWeights(job.manifest, other)),
    borders: [...borders.slice(0, -1), border],
  };
}

/** A session of the host's own, outside any enclave, with a release that says `change`. */
export async function strangersSession(
  { granted }: Pick<Keyed, 'granted'>,
  change: Partial<ReleasedSession['release']> = {},
  signer: Uint8Array = strangersSecret,
) {
  const keys = await createSessionKeys({ provider, chainId, registry });
  const own = { session: keysDigest(keys.binding), key: keys.binding.settlementKey };
  const release = { ...granted.release, ...own, ...change };
  return { keys, session: { binding: keys.binding, release, signature: signRelease(release, signer) } };
}

/** The checkpoint with its last border signed for by that session. */
export async function signedBy(
  job: Parameters<typeof segmentStatement>[0],
  checkpoint: Checkpoint,
  { keys, session }: Awaited<ReturnType<typeof strangersSession>>,
): Promise<Checkpoint> {
  const { borders, links, sessions } = checkpoint;
  const statement = segmentStatement(job, borders, borders.length - 2);
  const { receiptKey } = keys.binding;
  const { partials } = links.at(-1)!;
  const receipt =
    partials === undefined
      ? await signReceipt(statement, receiptKey, keys.signReceipt)
      : await signRoundReceipt({ ...statement, partials }, receiptKey, keys.signReceipt);
  const link = { ...links.at(-1)!, session: sessions.length, receipt };
  return { ...checkpoint, links: [...links.slice(0, -1), link], sessions: [...sessions, session] };
}

/** What comes of going on from it. */
export async function resumed(job: TinyJob, party: Keyed, checkpoint: Checkpoint) {
  const sealed = await seal(job, checkpoint);
  if (job.spec.parallel !== undefined) return segment(party, 4, sealed);
  await party.session.request('train', { checkpoint: sealed, threads: 1 });
  return party.session.ended();
}

/** Two evaluations end it by its rule; it would train three segments, or rounds. */
export function stoppingJob(kind: 'plain' | 'parallel'): Promise<NetJob> {
  const stop = { metric: 'accuracy', patience: 1, minimum: 1_000 };
  const spec = kind === 'parallel' ? { parallel: 2, segmentSteps: 4 } : {};
  return netJob({ net: tableNet({ stop }), spec });
}

/** Runs a job in segments, or rounds, of eight steps from a checkpoint to the event that ends it. */
export async function ranOn(job: NetJob, { session }: Pick<Keyed, 'session'>, from: Checkpoint | null) {
  let start = from && (await seal(job, from));
  if (job.spec.parallel === undefined) {
    await session.request('train', { checkpoint: start, threads: 1 });
    return session.ended();
  }
  for (let first = from === null ? 0 : from.step / 4; ; first += 2) {
    const partials: Uint8Array[] = [];
    for (const index of [first, first + 1]) {
      const event = await segment({ session }, index, start);
      if (event.type === 'partial') partials.push(event.ciphertext);
      else if (event.type !== 'failed' || event.code !== 'ROUND_SEGMENT') return event;
    }
    const before = session.events.length;
    const event = await average({ session }, partials, start);
    const result = session.events.slice(before).find(({ type }) => type === 'result');
    if (result !== undefined || event.type !== 'checkpoint') return result ?? event;
    start = event.ciphertext;
  }
}

/** Its checkpoints, opened as whoever has both secrets can, and the session that made them. */
export async function openedCheckpoints(job: NetJob) {
  const party = await keyedNet(job);
  await ranOn(job, party, null);
  const key = await keyOf(job);
  const made = party.session.events.filter((event): event is EventOf<'checkpoint'> => event.type === 'checkpoint');
  return { party, opened: await Promise.all(made.map(({ ciphertext }) => openCheckpoint(key, job.jobId, ciphertext))) };
}

/** The checkpoint with what another released session says in place of its last evaluation. */
export async function remeasured(
  checkpoint: Checkpoint,
  { keys, session }: Awaited<ReturnType<typeof strangersSession>>,
  change: Partial<EvaluationStatement>,
): Promise<Checkpoint> {
  const { evaluations = [], sessions } = checkpoint;
  const said = { ...parseEvaluation(evaluations.at(-1)!.statement), ...change };
  const receipt = await signEvaluation(said, keys.binding.receiptKey, keys.signReceipt);
  const all = sessions.includes(session) ? sessions : [...sessions, session];
  const other = { session: all.indexOf(session), statement: encodeEvaluation(said), receipt };
  return { ...checkpoint, evaluations: [...evaluations.slice(0, -1), other], sessions: all };
}
