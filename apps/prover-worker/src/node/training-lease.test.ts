/** A job whose proofs the contracts would refuse costs its prover nothing: neither the key is asked for, nor anything staked. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { dutySelectorOf, encodeJobSpec, escrowIdOf, JobMode, termsJson } from '#attestation/records';
import { addressBytes } from '#libs/settlement';
import { watchNode } from '#libs/telemetry';
import { pattern, type LeaseGrant } from '#libs/wire';
import { openMarket, walletOf, type Market } from '#test/escrow-market';
import { forgetProfile } from '#test/older-floor';
import { tinyDataset, tinyJob, tinyManifest } from '#test/tiny-job';
import { createJobProcess } from './job-process.js';
import type { NodeParts } from './parts.js';
import { runProof } from './proof-task.js';
import { runLease } from './training-lease.js';

const provider = walletOf('provider');
const account = addressBytes(provider.address);
const lease = { leaseId: '11111111-1111-4111-8111-111111111111', fence: 1 };
const windows = {
  ...{ start: 3600, compute: 3600, finality: 0, draw: 0, challenge: 3600, prove: 7200, provePer: 600, hold: 0 },
  ...{ reveal: 0, ack: 0, drawBlocks: 0 },
};

let market: Market;
let grant: LeaseGrant;
beforeAll(async () => {
  market = await openMarket();
  const { chainId, settlement } = market.deployment;
  const manifest = tinyManifest({ steps: 12, superblock: 4 });
  const { spec, terms, jobId, dataset } = await tinyJob({
    ...{ manifest, dataset: await tinyDataset(manifest, { proving: 'chain1' }), segmentSteps: 4 },
    spec: { assurance: 'zk', settlement: { chainId, contract: addressBytes(settlement) } },
    terms: {
      ...{ mode: JobMode.full, dutySelectors: [dutySelectorOf({ scheme: 'fxt-zk/1' })], windows },
      ...{ provider: account, token: new Uint8Array(20), price: 10n, stake: 5n, liveness: 1n },
    },
  });
  const job = {
    ...{ jobId: to0x(jobId), escrowId: to0x(escrowIdOf(terms)), brokerUrl: 'http://127.0.0.1:9', policy: '' },
    ...{ spec: Buffer.from(encodeJobSpec(spec)).toString('base64'), terms: termsJson(terms), resume: null },
    datasetManifest: dataset.manifest,
  };
  grant = { ...lease, expiresAt: 1, job } as unknown as LeaseGrant;
});
afterAll(() => market?.stop());

type Work = (parts: NodeParts, stop: AbortSignal) => Promise<unknown>;
const training: Work = (parts, stop) => runLease(grant, parts, stop);
/** Of a segment that another node trained. */
const proving: Work = (parts, stop) => {
  const { job } = grant;
  const task = { jobId: job.jobId, index: 0, fence: 1, expiresAt: 1, job, statement: '', checkpoint: null };
  return runProof(task, parts, stop);
};

interface Way {
  readonly rpcUrl?: string;
  readonly work?: Work;
  readonly isStaked?: boolean;
}

/** Under the settings of a node whose broker is away. @returns how the control plane was told that the work ended */
async function ended({ rpcUrl = market.anvil.url, work = training, isStaked = false }: Way = {}): Promise<unknown> {
  const sent: { readonly name: string }[] = [];
  const told = async (name: string, payload: object) => {
    if (name === pattern.proofProgress) return { held: true };
    return void sent.push({ name, ...payload });
  };
  const parts = {
    settings: {
      chain: { rpcUrl, deployment: market.deployment, pollingMs: 20 },
      escrow: {
        ...{ windowMaxSeconds: 86_400, computeMaxSeconds: 86_400, proofSeconds: 60, answerMinWei: 0n, tokens: [] },
        ...{ priceMinWei: 1n, stakeMaxWei: 5n, computeMinSeconds: 60, proveMinSeconds: 60 },
        multiplyAddsPerSecond: 1e9,
      },
      ...{ memoryMiB: 4096, proves: true, brokerWaitSeconds: 0, accountSecret: new Uint8Array(32).fill(1) },
    },
    escrow: { account },
    ...{ nodeId: lease.leaseId, leaseSeconds: 60, controlPlane: { send: told } },
    kept: { proof: () => null, find: () => ({ isStaked }), checkTerms: () => undefined },
    witness: { input: async () => null },
    jobProcess: createJobProcess({ threads: 1, memoryMiB: 4096, groth16Keys: undefined }),
    watch: watchNode([], 'prover-worker', 'silent'),
  };
  await work(parts as unknown as NodeParts, new AbortController().signal);
  expect(await market.chain.getTransactionCount(provider.address)).toBe(0);
  expect(sent).toHaveLength(1);
  return sent[0];
}

it('asks the chain for its floor before it asks for the key', async () => {
  const name = pattern.leaseFail;
  expect(await ended({ work: proving })).toMatchObject({ name: pattern.proofFail, code: 'BROKER_UNREACHABLE' });
  expect(await ended()).toMatchObject({ name, code: 'BROKER_UNREACHABLE', retry: true });
  expect(await ended({ rpcUrl: 'http://127.0.0.1:9' })).toMatchObject({ name, code: 'CHAIN_UNREACHABLE', retry: true });
  await forgetProfile(market.chain, market.deployment, 'chain1');
  expect(await ended()).toMatchObject({ name, code: 'PROVER_JOB', retry: false });
  expect(await ended({ work: proving })).toMatchObject({ name: pattern.proofFail, code: 'PROVER_JOB' });
  // Its own stake waits for no answer of the chain.
  const staked = { work: proving, isStaked: true };
  expect(await ended(staked)).toMatchObject({ name: pattern.proofFail, code: 'BROKER_UNREACHABLE' });
});
