/**
 * A prover whose control plane never answers again: its stake is at risk on the chain, so in the end it commits its run
 * and shows its proofs unasked. Real training, real proofs, a local chain whose clock is turned on.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fromHex, to0x } from '#attestation/base';
import { bordersRoot, encodeJobSpec, encodeTerms, specDigestOf, type Terms } from '#attestation/records';
import { openEscrow, type Escrow } from '../../apps/prover-worker/src/node/escrow.js';
import { openKeptJobs, type KeptJob, type KeptJobs } from '../../apps/prover-worker/src/node/kept-jobs.js';
import { openOwnProofs } from '../../apps/prover-worker/src/node/own-proofs.js';
import type { ProverSettings } from '../../apps/prover-worker/src/node/settings.js';
import { duties, engage, marketTerms, openMarket, walletOf, window, type Market } from '../support/escrow-market.js';
import { startFaultyRpc } from '../support/faulty-rpc.js';
import { proofFilesOf, provableJob, trainRun, type ProvableJob, type TrainedRun } from '../support/provable-run.js';
import { lookUntilBelieved, turnSteadyTime } from '../support/steady-time.js';

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
let wait: (seconds: number) => void;
/** The chain and this machine go on by as much. */
let pass: (seconds: number) => Promise<void>;
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
  wait = turnSteadyTime();
  await lookUntilBelieved(collect, wait);
  pass = (seconds) => {
    wait(seconds);
    return market.pass(seconds);
  };
});
afterEach(async () => {
  vi.restoreAllMocks();
  escrow?.close();
  await market?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function settingsOf({ anvil, deployment }: Market): ProverSettings {
  const chain = { rpcUrl: anvil.url, deployment, pollingMs: 20, confirmations: 1 };
  const accountSecret = fromHex(walletOf('provider').privateKey);
  return { chain, accountSecret, escrow: { stakeMaxWei: 10n ** 18n } } as unknown as ProverSettings;
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
  kept.keepProof({ claim: { nodeId: node, jobId, index, fence: 1 }, ...madeProof(index) });
}

const madeProof = (index: number) => proofFilesOf(job, market.as('provider'), terms, run, index);

/** Another node of the account, without a run. */
function withoutRun(isStaked: boolean): void {
  kept.remove(jobId);
  kept.open(jobId, encodeJobSpec(job.spec), encodeTerms(terms));
  if (isStaked) kept.markStaked(jobId);
}

const keptJob = (): KeptJob => kept.find(kept.ids()[0]!)!;
const collect = async (): Promise<boolean> => (await escrow.collect(keptJob())) !== 'end';
const stateOf = async (): Promise<string> => (await market.as('provider').job(terms)).state;
const proved = async (): Promise<readonly boolean[]> =>
  (await market.as('provider').duties.list(terms)).map((duty) => duty.proved);

it('commits its run in the last quarter of the time to compute, not before', async () => {
  await pass(0.7 * window);
  await collect();
  expect(await stateOf()).toBe('Started');
  await pass(0.06 * window);
  await collect();
  expect(await stateOf()).toBe('Committed');
});

it('shows its proofs when half of the time to prove is over, and takes its money when its run is taken and its window over', async () => {
  const provider = market.as('provider');
  const credit = (): Promise<bigint> => provider.creditOf(walletOf('provider').address, terms.token);
  await pass(0.8 * window);
  await collect();
  keepProof(0);
  keepProof(1);
  await collect();
  expect(await proved()).toEqual([false, false]);
  kept.markTold(jobId, 1);
  await collect();
  expect(await proved()).toEqual([false, true]);
  await pass(0.51 * window);
  await collect();
  expect(await proved()).toEqual([true, true]);
  await collect();
  expect(await stateOf()).toBe('Committed');

  kept.closeDelivery(jobId, 'taken');
  expect(await collect()).toBe(true);
  expect(await stateOf()).toBe('Committed');
  await pass(0.5 * window);
  expect(await collect()).toBe(true);
  expect(await stateOf()).toBe('Settled');
  expect(await credit()).toBeGreaterThan(0n);
  expect(await collect()).toBe(false);
  expect(await credit()).toBe(0n);
});

it('gives the job back at the last moment where it has no run, and ends the lease that waits for proofs', async () => {
  withoutRun(false);
  await pass(0.95 * window);
  expect(await escrow.collect(keptJob())).toBe('wait');
  kept.markStaked(jobId);
  const letGo = vi.fn();
  expect(await escrow.collect(keptJob(), letGo)).toBe('resign');
  expect(letGo).toHaveBeenCalledOnce();
  expect(await stateOf()).toBe('Resigned');
  expect(await escrow.collect(keptJob())).toBe('end');
});

it.each(['first', 'later'])('does not give the job back on one head of another chain, %s', async (when) => {
  withoutRun(true);
  const proxy = await startFaultyRpc(market.anvil.url);
  const settings = settingsOf(market);
  const asked = openEscrow({ ...settings, chain: { ...settings.chain, rpcUrl: proxy.url } }, kept);
  const look = () => asked.collect(keptJob());
  if (when === 'later') await lookUntilBelieved(look, wait);
  proxy.speak = async ({ method }, pass) => {
    const answer = await pass();
    if (method !== 'eth_getBlockByNumber') return answer;
    const block = answer.result as { timestamp: string };
    const timestamp = `0x${(Number(block.timestamp) + window).toString(16)}`;
    return { result: { ...block, number: '0x1312d00', timestamp } };
  };
  expect(await look()).toBe('wait');
  proxy.speak = (_, pass) => pass();
  await lookUntilBelieved(async () => expect(await look()).toBe('wait'), wait);
  await pass(0.95 * window);
  expect(await look()).toBe('resign');
  asked.close();
  await proxy.stop();
});

it('commits a run that the control plane refused, in the last quarter', async () => {
  kept.closeDelivery(jobId, 'refused');
  await pass(0.7 * window);
  await collect();
  expect(await stateOf()).toBe('Started');
  await pass(0.06 * window);
  await collect();
  expect(await stateOf()).toBe('Committed');
});

it('takes its stake back where it accepted and could not start', async () => {
  terms = { ...terms, seedCommitClient: new Uint8Array(32).fill(7) };
  await market.as('client').open(terms);
  await market.as('provider').accept(terms, new Uint8Array(32));
  withoutRun(true);
  expect(await escrow.collect(keptJob())).toBe('wait');
  await pass(1.1 * window);
  expect(await escrow.collect(keptJob())).toBe('abort');
  expect(await stateOf()).toBe('Aborted');
});

it('ends a run that had no witness from its first step on', async () => {
  withoutRun(true);
  kept.keepStopped(jobId, run.borders.slice(0, 1));
  expect(await escrow.collect(keptJob())).toBe('commit');
  expect(await escrow.collect(keptJob())).toBe('wait');
  await pass(2.1 * window);
  expect(await escrow.collect(keptJob())).toBe('finalize');
  expect(await stateOf()).toBe('Stopped');
});

describe('of proofs that its stake is for', () => {
  const question: object[] = [];
  let answers: object[];
  const nothing = { task: null, elsewhere: null, left: 0 };
  const blobs = new Map<string, Uint8Array>();
  const own = (patienceMs: number) =>
    openOwnProofs(
      { jobId, spec: job.spec, terms, borders: run.borders },
      {
        ...{ kept, nodeId: node, settings: { proves: true } as ProverSettings },
        controlPlane: {
          send(_: string, message: object) {
            question.push(message);
            return Promise.resolve(answers.shift() ?? nothing);
          },
        } as never,
        store: { getBlob: (name: string) => Promise.resolve(blobs.get(name)!) } as never,
      },
      patienceMs,
    );
  const blob = `0x${'b1'.repeat(32)}`;
  const both = [0, 1];
  beforeEach(() => void question.splice(0));

  it('it keeps what another brought, and shows it on chain', async () => {
    const { bundle, document } = madeProof(1);
    blobs.set(blob, bundle);
    answers = [{ ...nothing, elsewhere: { index: 1, blob, document } }];
    const proofs = own(60_000);
    expect(await proofs.next(both)).toEqual({ task: null, kept: true, left: 0 });
    expect(await proofs.next(both)).toEqual({ task: null, kept: false, left: 0 });
    expect(question).toMatchObject([
      { holding: [], insists: false },
      { holding: [1], insists: false },
    ]);
    await pass(0.8 * window);
    await collect();
    await collect();
    expect(await proved()).toEqual([false, true]);
  });

  it('it takes none that does not hold, is of another segment or cannot be had, and asks to prove it itself', async () => {
    const { bundle, document } = madeProof(0);
    const cases: [Uint8Array | undefined, number][] = [
      [bundle.with(bundle.length - 1, bundle.at(-1)! ^ 1), 0],
      [bundle, 1],
      [undefined, 0],
    ];
    for (const [bytes, index] of cases) {
      if (bytes === undefined) blobs.delete(blob);
      else blobs.set(blob, bytes);
      answers = [{ ...nothing, elsewhere: { index, blob, document } }];
      const proofs = own(60_000);
      expect(await proofs.next(both)).toMatchObject({ kept: false });
      await proofs.next(both);
      expect(question.at(-1)).toMatchObject({ holding: [], insists: true });
    }
  });

  it('it waits for others no longer than its patience', async () => {
    answers = Array.from({ length: 4 }, () => ({ ...nothing, left: 2 }));
    const patient = own(60_000);
    await patient.next(both);
    await patient.next(both);
    expect(question.at(-1)).toMatchObject({ insists: false });
    const hasty = own(1);
    await hasty.next(both);
    await sleep(10);
    await hasty.next(both);
    expect(question.at(-1)).toMatchObject({ insists: true });
  });
});
