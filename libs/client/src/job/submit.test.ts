/** A job whose proofs the set of contracts would refuse is not uploaded, and not paid for. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { datasetManifestJson, readSealedDataset } from '#attestation/records';
import { canonicalManifest } from '#libs/step';
import { openMarket, walletOf, type Market } from '#test/escrow-market';
import { forgetProfile } from '#test/older-floor';
import { tinyDataset, tinyJob, tinyManifest } from '#test/tiny-job';
import type { ControlPlaneApi } from '../api/api.js';
import type { Profile } from '../api/profile.js';
import { submitJob, type SubmitRequest } from './submit.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-submit-'));
const client = walletOf('client');
let market: Market;
let profile: Profile;
let request: SubmitRequest;

beforeAll(async () => {
  market = await openMarket();
  const manifest = tinyManifest({ steps: 12, superblock: 4 });
  const dataset = await tinyDataset(manifest, { proving: 'chain1' });
  const write = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const { policy } = await tinyJob({ manifest, dataset, segmentSteps: 4 });
  mkdirSync(join(folder, 'data', 'shards'), { recursive: true });
  write('data/dataset.json', JSON.stringify(datasetManifestJson(dataset.manifest)));
  for (const [index, shard] of dataset.shards.entries()) write(`data/shards/${index}.bin`, shard);
  profile = {
    controlPlane: { url: 'http://127.0.0.1:9', apiKey: 'nobody' },
    broker: { url: 'http://127.0.0.1:9', account: walletOf('broker').address, keysFolder: folder },
    policy: write('policy.json', JSON.stringify(policy)),
    chain: {
      ...{ rpcUrl: market.anvil.url, pollingMs: 20, deployment: market.deployment },
      accountKey: write('account', client.privateKey.slice(2)),
    },
    recipientKey: write('recipient', '44'.repeat(32)),
  };
  request = {
    ...{ manifest: write('manifest.json', canonicalManifest(manifest)), dataset: join(folder, 'data') },
    ...{ segmentSteps: 4, provider: walletOf('provider').address, rewardWei: 10n ** 18n, samples: 4 },
  };
});
afterAll(async () => {
  await market?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Reaches a control plane that is away. @returns what it was asked for */
async function asked(assurance: SubmitRequest['assurance'], code: string): Promise<readonly string[]> {
  const calls: string[] = [];
  const api = new Proxy({} as ControlPlaneApi, {
    get: (_, name) => async () => {
      calls.push(String(name));
      throw Object.assign(new Error(), { code: 'AWAY' });
    },
  });
  await expect(submitJob({ ...request, assurance }, profile, api)).rejects.toMatchObject({ code });
  expect(await market.chain.getTransactionCount(client.address)).toBe(0);
  return calls;
}

it('names the jobs it may repeat, and itself once it is posted, before its escrow is opened', async () => {
  const words: string[] = [];
  const { id } = readSealedDataset(readFileSync(join(request.dataset, 'dataset.json')));
  const job = { id: '0xaa', datasetId: to0x(id), state: 'submitted', escrowState: 'none' };
  const api = {
    get: async () => ({ items: [job, { ...job, id: '0xbb', state: 'cancelled' }] }),
    put: async () => undefined,
    post: async (path: string) => (words.push(path), { shards: Array(100).fill({ uploaded: true }) }),
  } as unknown as ControlPlaneApi;
  const killed = new Error('killed');
  const submitting = submitJob({ ...request, assurance: 'tee' }, profile, api, {
    onSameDataset: (jobs) => void words.push(...jobs.map((one) => one.id)),
    onPosted() {
      throw killed;
    },
  });
  await expect(submitting).rejects.toBe(killed);
  expect(words).toEqual(['0xaa', 'datasets', 'jobs']);
  expect(await market.chain.getTransactionCount(client.address)).toBe(0);
});

it('asks the chain for its floor before it uploads or pays, where proofs are due', async () => {
  expect((await asked('zk', 'AWAY')).length).toBeGreaterThan(0);
  await forgetProfile(market.chain, market.deployment, 'chain1');
  expect(await asked('zk', 'JOB_PROOF_VERIFIER')).toEqual([]);
  expect(await asked('sampled', 'JOB_PROOF_VERIFIER')).toEqual([]);
  expect((await asked('tee', 'AWAY')).length).toBeGreaterThan(0);
});

it('uploads nothing where the chain is away or the account has too little, and names the account', async () => {
  const whole = { profile, request };
  const { chain } = profile;
  profile = { ...profile, chain: { ...chain, rpcUrl: 'http://127.0.0.1:9' } };
  expect(await asked('tee', 'CHAIN_UNREACHABLE')).toEqual([]);
  profile = whole.profile;
  request = { ...request, rewardWei: 10n ** 30n };
  expect(await asked('tee', 'CHAIN_FUNDS')).toEqual([]);
  await expect(submitJob(request, profile, {} as ControlPlaneApi)).rejects.toMatchObject({
    detail: { expected: expect.stringContaining(client.address) as unknown },
  });
  request = whole.request;
});
