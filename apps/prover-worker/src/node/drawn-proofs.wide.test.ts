/**
 * A sampled run whose stake hangs on what was drawn of it: the node that trained it was killed, its control plane lies or is
 * away, and nobody gives it the data key again. Real training, real proofs, a local chain whose clock is turned on.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fromHex, keccak, to0x } from '#attestation/base';
import {
  datasetManifestJson,
  encodeJobSpec,
  encodeTerms,
  JobMode,
  specDigestOf,
  type Terms,
} from '#attestation/records';
import { addressBytes } from '#libs/settlement';
import { canonicalManifest, initialWeights, profileManifest } from '#libs/step';
import { commitmentsOfJob } from '#libs/zk/groth16/commitment';
import {
  duties,
  marketTerms,
  openMarket,
  releaseOf,
  seedClient,
  walletOf,
  window,
  type Market,
} from '#test/escrow-market';
import { tinyDataset, tinyJob, tinyManifest, type TinyJob } from '#test/tiny-job';
import { drawSeed } from './draw.js';
import { openDrawnProofs } from './drawn-proofs.js';
import { openEscrow } from './escrow.js';
import { createJobProcess } from './job-process.js';
import { openKeptJobs } from './kept-jobs.js';
import { openKeptWitness } from './kept-witness.js';
import { openInput, type EntrustedJob } from './offered-job.js';
import type { NodeParts } from './parts.js';
import type { ProverSettings } from './settings.js';

const nodeId = '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c';
const accountSecret = fromHex(walletOf('provider').privateKey);
const hostRoot = new Uint8Array(32).fill(3);
const segments = 2;
const manifest = tinyManifest({ steps: 4 * segments, superblock: 4 });
const { signal } = new AbortController();
const proofSeconds = 1000;

let folder: string;
let market: Market;
let job: TinyJob;
let terms: Terms;
let jobId: string;
const lives: NodeParts[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-drawn-'));
  market = await openMarket();
  const { chainId, settlement } = market.deployment;
  const dataset = await tinyDataset(manifest, { proving: 'chain1' });
  const spec = { assurance: 'sampled', settlement: { chainId, contract: addressBytes(settlement) } } as const;
  job = await tinyJob({ manifest, dataset, segmentSteps: 4, spec });
  jobId = to0x(job.jobId);
  const start = commitmentsOfJob(job.spec, manifest, { jobId: job.jobId, dataKey: dataset.key });
  terms = marketTerms({
    ...{ specDigest: specDigestOf(job.spec), initialWeights: start.border(0, initialWeights(manifest)) },
    ...{ mode: JobMode.sample, segments, samples: 16, windows: duties },
  });
  await market.as('client').open(terms);
  await market.as('provider').accept(terms, keccak(drawSeed(accountSecret, terms)));
  await market.as('provider').start(terms, releaseOf(market, terms, null));
}, 300_000);
afterEach(async () => {
  for (const { jobProcess, escrow } of lives.splice(0)) {
    jobProcess.clear();
    escrow.close();
  }
  await market.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A process of the node, from what is on disk. */
function life(send: () => Promise<unknown>): NodeParts {
  const { anvil, deployment } = market;
  const chain = { rpcUrl: anvil.url, deployment, pollingMs: 20, confirmations: 1 };
  const settings = {
    chain,
    accountSecret,
    hostRoot,
    proves: true,
    escrow: { proofSeconds },
  } as unknown as ProverSettings;
  const kept = openKeptJobs(folder);
  const parts = {
    ...{ settings, nodeId, kept, controlPlane: { send } },
    ...{ witness: openKeptWitness(folder, hostRoot), escrow: openEscrow(settings, kept) },
    jobProcess: createJobProcess({ threads: 1, memoryMiB: 2048 }),
    watch: { event: () => undefined, failure: () => undefined },
  } as unknown as NodeParts;
  lives.push(parts);
  return parts;
}

const entrusted = (): EntrustedJob => {
  const { dataset, spec } = job;
  const offered = { datasetManifest: datasetManifestJson(dataset.manifest) };
  const parts = { jobId, spec, specBytes: encodeJobSpec(spec), terms, job: offered, dataKey: dataset.key, release: {} };
  return parts as unknown as EntrustedJob;
};
const opened = () =>
  openInput(entrusted(), { shard: async (_: string, index: number) => job.dataset.shards[index]! } as never, hostRoot);

/** Trains, and has the run taken and committed; nothing is drawn. */
async function committed(parts: NodeParts): Promise<void> {
  const { kept, witness, jobProcess, escrow } = parts;
  kept.open(jobId, encodeJobSpec(job.spec), encodeTerms(terms));
  await witness.keepInput(jobId, await opened());
  kept.markStaked(jobId);
  const compute = await jobProcess.at(jobId, opened);
  const { borders } = await compute.train(null, (border) => witness.keepBorder(jobId, border));
  expect(witness.resumePoint(jobId, segments)).not.toBeNull();
  kept.keepDelivery(jobId, { borders: borders.map(to0x) } as never);
  kept.closeDelivery(jobId, 'taken');
  expect(await escrow.collect(kept.find(jobId)!)).toBe('commit');
}

const state = async () => (await market.as('provider').job(terms)).state;

describe.each([
  ['says that nothing is left', () => Promise.resolve({ task: null, elsewhere: null, left: 0 })],
  ['hands out another job', () => Promise.resolve({ task: foreignTask(), elsewhere: null, left: 1 })],
  ['is away', () => Promise.reject(new Error('away'))],
])('a control plane that %s', (_, send) => {
  it('costs a node with a sampled run nothing, whatever became of its process', async () => {
    const first = life(send);
    await committed(first);
    first.jobProcess.clear();
    const again = life(send);
    const prove = vi.fn(() => Promise.resolve(true));
    const drawn = openDrawnProofs(again, prove);
    expect(await drawn.proveNext(signal)).toBe('held');
    await market.as('client').duties.draw(terms, seedClient);
    expect(await market.as('provider').duties.undischarged(terms)).toEqual([0, 1]);
    const proofs = () => again.kept.find(jobId)!.proofs;
    const later = openDrawnProofs(again, prove);
    expect(await later.proveNext(signal)).toBe('held');
    expect(proofs()).toEqual([]);

    await market.pass(2 * proofSeconds + 1);
    const urgent = openDrawnProofs(again, prove);
    expect(await urgent.proveNext(signal)).toBe('proved');
    expect(await urgent.proveNext(signal)).toBe('proved');
    expect(proofs()).toEqual([0, 1]);
    expect(prove).not.toHaveBeenCalled();

    await market.pass(0.6 * window);
    const left = async () => {
      await again.escrow.collect(again.kept.find(jobId)!);
      return market.as('provider').duties.undischarged(terms);
    };
    await expect.poll(left, { interval: 600 }).toEqual([]);
    expect(await openDrawnProofs(again, prove).proveNext(signal)).toBe('free');
    await market.pass(window);
    expect(await again.escrow.collect(again.kept.find(jobId)!)).toBe('finalize');
    expect(await state()).toBe('Settled');
  }, 300_000);
});

/** Well-formed, under the name of this node's job, with another behind it. */
function foreignTask() {
  const other = to0x(keccak(job.jobId));
  const of = {
    ...entrusted().job,
    jobId: other,
    escrowId: other,
    spec: '',
    terms: {},
    policy: '',
    brokerUrl: 'http://a',
  };
  return { jobId, index: 0, fence: 1, expiresAt: 1, statement: '', checkpoint: null, job: { ...of, resume: null } };
}

it('what a sampled run is proved from opens with the secret of this host alone, and not where it was altered', async () => {
  const { kept, witness } = life(() => Promise.reject(new Error('away')));
  kept.open(jobId, encodeJobSpec(job.spec), encodeTerms(terms));
  expect(await witness.input(jobId)).toBeNull();
  await witness.keepInput(jobId, await opened());
  expect(await witness.input(jobId)).toEqual(await opened());
  const other = openKeptWitness(folder, new Uint8Array(32).fill(4));
  await expect(other.input(jobId)).rejects.toMatchObject({ code: 'KEPT_INPUT' });
  writeFileSync(join(folder, jobId.slice(2), 'input'), new Uint8Array(64));
  await expect(witness.input(jobId)).rejects.toMatchObject({ code: 'KEPT_INPUT' });
});

it('takes no sampled job whose witness it could not keep', async () => {
  const { witness } = life(() => Promise.reject(new Error('away')));
  const large = profileManifest('fx1', {
    dims: [784, 1024, 10],
    batch: 4,
    e: 5,
    steps: 1000,
    seed: `0x${'5a'.repeat(32)}`,
  });
  const spec = { ...job.spec, manifest: canonicalManifest(large), segmentSteps: 1 };
  const input = await opened();
  expect(() => witness.checkRoom(jobId, job.spec, input)).not.toThrow();
  expect(() => witness.checkRoom(jobId, spec, input)).toThrow(expect.objectContaining({ code: 'PROVER_DISK' }));
});
