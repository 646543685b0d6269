/** A tiny data-parallel job over real sessions, and what it must end in by integers alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { toHex } from '#attestation/base';
import { openShard } from '#libs/sealing';
import {
  divideSteps,
  initialWeights,
  blockOfStep,
  splitRecords,
  stepReference,
  superblockRecords,
  stateDigest,
  type Weights,
} from '#libs/step';
import type { EnclaveEvent, EventOf } from '#libs/wire/channel';
import { tinyDataset, tinyJob, tinyManifest, type TinyJob, type TinyJobOptions } from './tiny-job.js';
import { keyed, type Keyed } from './tiny-release.js';

/** 24 steps in segments of 4: three rounds of two workers, or two of three. */
export async function tinyParallelJob(workers: number, options: TinyJobOptions = {}): Promise<TinyJob> {
  const manifest = options.manifest ?? tinyManifest({ steps: 24 });
  const dataset = options.dataset ?? (await tinyDataset(manifest));
  const spec = { ...(workers > 1 && { parallel: workers }), ...options.spec };
  return tinyJob({ segmentSteps: 4, ...options, manifest, dataset, spec });
}

type Member = Pick<Keyed, 'session'>;

export async function crew(job: TinyJob, size: number): Promise<Keyed[]> {
  return Promise.all(Array.from({ length: size }, () => keyed(job)));
}

/** The next event of a session that is no progress. */
export async function heard({ session }: Member, after: number): Promise<EnclaveEvent> {
  for (;;) {
    const event = session.events.slice(after).find(({ type }) => type !== 'progress');
    if (event !== undefined) return event;
    await sleep(2);
  }
}

export async function segment(member: Member, index: number, checkpoint: Uint8Array | null): Promise<EnclaveEvent> {
  const after = member.session.events.length;
  await member.session.request('segment', { index, checkpoint, threads: 1 });
  return heard(member, after);
}

export async function partial(
  member: Member,
  index: number,
  checkpoint: Uint8Array | null,
): Promise<EventOf<'partial'>> {
  const event = await segment(member, index, checkpoint);
  if (event.type !== 'partial') throw new Error(`segment ${index}: ${JSON.stringify(event)}`);
  return event;
}

/** Everything that the average gave, or the failure. */
export async function average(
  member: Member,
  partials: readonly Uint8Array[],
  checkpoint: Uint8Array | null,
): Promise<EnclaveEvent> {
  for (const ciphertext of partials) await member.session.request('partial', { ciphertext });
  const after = member.session.events.length;
  await member.session.request('average', { checkpoint });
  return heard(member, after);
}

export interface Rounds {
  readonly checkpoints: readonly EventOf<'checkpoint'>[];
  /** By round and worker. */
  readonly partials: readonly (readonly EventOf<'partial'>[])[];
  readonly result: EventOf<'result'>;
}

/**
 * @param who      member that trains a segment
 * @param leader   member that averages a round
 * @param arrival  order in which the leader is given a round's partials
 */
export async function runRounds(
  job: TinyJob,
  members: readonly Member[],
  who: (segment: number) => number,
  leader: (round: number) => number,
  arrival: (partials: readonly Uint8Array[]) => readonly Uint8Array[] = (partials) => partials,
): Promise<Rounds> {
  const { workers, rounds } = divideSteps(job.manifest, job.spec);
  const checkpoints: EventOf<'checkpoint'>[] = [];
  const all: EventOf<'partial'>[][] = [];
  for (let round = 0; round < rounds; round++) {
    const start = checkpoints.at(-1)?.ciphertext ?? null;
    const partials: EventOf<'partial'>[] = [];
    for (let worker = 0; worker < workers; worker++) {
      const index = round * workers + worker;
      partials.push(await partial(members[who(index)]!, index, start));
    }
    all.push(partials);
    const ciphertexts = arrival(partials.map(({ ciphertext }) => ciphertext));
    const event = await average(members[leader(round)]!, ciphertexts, start);
    if (event.type !== 'checkpoint') throw new Error(`round ${round}: ${JSON.stringify(event)}`);
    checkpoints.push(event);
  }
  const { session } = members[leader(rounds - 1)]!;
  const result = session.events.find((event): event is EventOf<'result'> => event.type === 'result')!;
  return { checkpoints, partials: all, result };
}

/** State digest after every round, by BigInt alone: libs/step/SPEC.md §4 to §7 for each step, §8 for the average. */
export async function referenceDigests({ manifest, spec, dataset }: TinyJob): Promise<string[]> {
  const { workers, segmentSteps, roundSteps, rounds } = divideSteps(manifest, spec);
  const shards = await Promise.all(
    dataset.shards.map((shard, index) => openShard(dataset.manifest, index, shard, dataset.key)),
  );
  const records = new Uint8Array(Buffer.concat(shards));
  const { records: count } = dataset.manifest;
  const digests: string[] = [];
  let weights = initialWeights(manifest);
  for (let round = 0; round < rounds; round++) {
    const models: Weights[] = [];
    for (let worker = 0; worker < workers; worker++) {
      let own = weights;
      for (let i = 0; i < segmentSteps; i++) {
        const step = round * roundSteps + worker * segmentSteps + i;
        if (step >= manifest.steps) break;
        const block = superblockRecords(manifest, records, blockOfStep(manifest, step, count));
        own = stepReference(manifest, own, splitRecords(manifest, block), step).weights;
      }
      models.push(own);
    }
    weights = weights.map((tensor, at) => ({
      ...tensor,
      values: tensor.values.map((_, i) => halfUp(models.map((model) => model[at]!.values[i]!))),
    }));
    digests.push(toHex(stateDigest(manifest, weights)));
  }
  return digests;
}

/** The mean of some integers, halves up, by comparing instead of by DIVR's formula. */
function halfUp(values: readonly bigint[]): bigint {
  const count = BigInt(values.length);
  const sum = values.reduce((a, b) => a + b, 0n);
  let mean = sum / count;
  while (2n * (mean * count - sum) > count) mean -= 1n;
  while (2n * (sum - mean * count) >= count) mean += 1n;
  return mean;
}
