/**
 * A prover whose control plane never answers again: its stake is at risk on the chain, so in the end it commits its run
 * and shows its proofs unasked. Real training, real proofs, a local chain whose clock is turned on.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { fromHex, to0x } from '#attestation/base';
import { bordersRoot, encodeJobSpec, encodeTerms, escrowIdOf, specDigestOf, type Terms } from '#attestation/records';
import { encodeProofBundle, proofStatementText } from '#libs/proof';
import { openEscrow, type Escrow } from '../../apps/prover-worker/src/node/escrow.js';
import { openKeptJobs, type KeptJob, type KeptJobs } from '../../apps/prover-worker/src/node/kept-jobs.js';
import type { ProverSettings } from '../../apps/prover-worker/src/node/settings.js';
import { duties, engage, marketTerms, openMarket, walletOf, window, type Market } from '../support/escrow-market.js';
import { provableJob, sealTrained, trainRun, type ProvableJob, type TrainedRun } from '../support/provable-run.js';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const segments = 2;
const node = '7e5c1b9e-2f0c-4a39-8c84-3f3f8a1d2b6c';

let folder: string;
let market: Market;
let kept: KeptJobs;
let escrow: Escrow;
let job: ProvableJob;
let terms: Terms;
let run: TrainedRun;
let jobId: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-prover-escrow-'));
  market = await openMarket();
  kept = openKeptJobs(folder);
  escrow = openEscrow(settingsOf(market), kept);
  job = provableJob(market.deployment, 'separate', segments);
  const initialWeights = job.prepared.genesisDigest;
  terms = marketTerms({ specDigest: specDigestOf(job.spec), initialWeights, segments, windows: duties });
  run = trainRun(job);
  jobId = to0x(job.jobId);
  await engage(market, terms);
  kept.open(jobId, encodeJobSpec(job.spec), encodeTerms(terms));
  keepRun();
});
afterEach(async () => {
  escrow?.close();
  await market?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function settingsOf({ anvil, deployment }: Market): ProverSettings {
  const chain = { rpcUrl: anvil.url, deployment, pollingMs: 20, confirmations: 1 };
  return { chain, accountSecret: fromHex(walletOf('provider').privateKey) } as unknown as ProverSettings;
}

/** As a node does that has trained and found nobody to tell. */
function keepRun(): void {
  const borders = run.borders.map(to0x);
  const none = `0x${'00'.repeat(32)}`;
  const last = borders.at(-1)!;
  kept.keepDelivery(jobId, {
    ...{ leaseId: node, fence: 1, result: { blob: last, bytes: 64, ciphertextDigest: none, keyCommit: none } },
    run: { upTo: segments, outcome: 0, bordersRoot: to0x(bordersRoot(run.borders)), last, delivery: none, keys: none },
    ...{ seal: '', borders, receipts: [], timings: { train: 1 }, transactions: [] },
  });
}

function keepProof(index: number): void {
  const { plan, manifest, prepared } = job;
  const provider = market.as('provider');
  const { proof, statement } = sealTrained(job, provider, terms, run, index);
  const { before, after, data, dataPath, recordCount, datasetRoot } = statement;
  const document = proofStatementText({
    ...{ backend: 'sumcheck', profile: plan.profile.name, variant: plan.variant, jobId: job.jobId, manifest },
    ...{ recordCount, datasetRoot, firstStep: index, escrow: { domain: provider.domain, job: escrowIdOf(terms) } },
    ...{ borders: [before, after], segments: [{ data, path: dataPath }] },
  });
  expect(datasetRoot).toEqual(prepared.root);
  kept.keepProof({ claim: { nodeId: node, jobId, index, fence: 1 }, bundle: encodeProofBundle([proof]), document });
}

const keptJob = (): KeptJob => kept.find(kept.ids()[0]!)!;
const collect = async (): Promise<boolean> => (await escrow.collect(keptJob())) !== 'end';
const stateOf = async (): Promise<string> => (await market.as('provider').job(terms)).state;
const proved = async (): Promise<readonly boolean[]> =>
  (await market.as('provider').duties.list(terms)).map((duty) => duty.proved);

it('commits its run in the last quarter of the time to compute, not before', async () => {
  await market.pass(0.7 * window);
  await collect();
  expect(await stateOf()).toBe('Started');
  await market.pass(0.06 * window);
  await collect();
  expect(await stateOf()).toBe('Committed');
});

it('shows its proofs when half of the time to prove is over, and takes its money when its run is taken and its window over', async () => {
  const provider = market.as('provider');
  const credit = (): Promise<bigint> => provider.creditOf(walletOf('provider').address, terms.token);
  await market.pass(0.8 * window);
  await collect();
  keepProof(0);
  keepProof(1);
  await collect();
  expect(await proved()).toEqual([false, false]);
  kept.markTold(jobId, 1);
  await collect();
  expect(await proved()).toEqual([false, true]);
  await market.pass(0.51 * window);
  await collect();
  expect(await proved()).toEqual([true, true]);
  await collect();
  expect(await stateOf()).toBe('Committed');

  kept.closeDelivery(jobId, 'taken');
  expect(await collect()).toBe(true);
  expect(await stateOf()).toBe('Committed');
  await market.pass(0.5 * window);
  expect(await collect()).toBe(true);
  expect(await stateOf()).toBe('Settled');
  expect(await credit()).toBeGreaterThan(0n);
  expect(await collect()).toBe(false);
  expect(await credit()).toBe(0n);
});
