/**
 * A job without a TEE whose proofs no transaction has room for: sealed under `chain256`, proved by a node that is killed when
 * the chain has the first part of its first proof, verified in two transactions each, paid, and its bundle checked offline.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { id } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  fetchBundle,
  fetchResult,
  followJob,
  loadProfile,
  openApi,
  openChain,
  ownTerms,
  sealFiles,
  submitJob,
  type CheckedResult,
  type Profile,
} from '#libs/client';
import { readPolicy, verifyBundleFile } from '#libs/client/judging';
import { writeWhole } from '#libs/client/files';
import type { ProofUnit } from '#libs/proof';
import { connect } from '#libs/settlement';
import { startEmbedded, type EmbeddedSystem } from '../../apps/cli/src/system/embedded.js';
import { smallManifest, writeManifest, writeSmallFiles } from '../support/small-job.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-split-proof-'));
const segmentSteps = 2;
const segments = 1;
const begun = id('ProofBegun(bytes32,address,bytes32,uint256)');
const proved = id('FactProved(bytes32)');

let system: EmbeddedSystem;
let profile: Profile;
let rpc: ReturnType<typeof connect>;
beforeAll(async () => {
  system = await startEmbedded({
    folder: join(folder, 'system'),
    vendorFile: join(tmpdir(), 'veritrain-test-simulated-vendor.json'),
    enclave: false,
    provers: [{ threads: 2, memoryMiB: 4096 }],
  });
  profile = loadProfile(system.profileFile);
  rpc = connect(profile.chain.rpcUrl, profile.chain.deployment.chainId, 20);
}, 600_000);
afterAll(async () => {
  rpc?.destroy();
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a job whose proofs take two transactions', () => {
  let unit: ProofUnit | undefined;
  let result: CheckedResult;
  let jobId: string;
  /** Events of the verifier when the node was killed. */
  let atKill: readonly string[];

  beforeAll(async () => {
    const api = openApi(profile);
    const manifest = smallManifest({ steps: segments * segmentSteps, superblock: segmentSteps });
    const file = writeManifest(join(folder, 'manifest.json'), manifest);
    const files = writeSmallFiles(join(folder, 'idx'), segments * segmentSteps * manifest.batch);
    const sealing = { manifest: file, ...files, out: join(folder, 'data'), provable: true, proofProfile: 'chain256' };
    await sealFiles({ ...sealing, key: join(profile.broker.keysFolder, 'data.json') });
    const request = { manifest: file, dataset: sealing.out, segmentSteps, provider: system.prover };
    const order = { ...request, rewardWei: 10n ** 18n, assurance: 'zk' } as const;
    ({ jobId } = await submitJob(order, profile, api, { onProofs: (told) => (unit = told) }));
    const killed = killAtFirstPart();
    await followJob(jobId, api, () => undefined, ['delivered', 'settled']);
    result = await fetchResult(jobId, profile, readPolicy(profile.policy).policy, api);
    atKill = await killed;
  }, 1_500_000);

  it('told before it was paid for what they would take', () => {
    const transactions = 3 * segments;
    expect(unit).toMatchObject({ steps: segmentSteps, profile: 'chain256', proofs: segments, transactions });
    expect(unit!.gas! / segments).toBeGreaterThan(6e6);
  });

  it('sends no part twice, though its node was killed between two', async () => {
    expect(atKill).toEqual([begun]);
    const all = await eventsOf();
    expect(all.filter((topic) => topic === begun)).toHaveLength(segments);
    expect(all.filter((topic) => topic === proved)).toHaveLength(segments);
  });

  it('is paid when the contract has seen every proof, for the gas that was expected', async () => {
    expect(result.settledBy).toMatch(/^0x[0-9a-f]{64}$/);
    const chain = openChain(profile);
    try {
      const terms = ownTerms(profile, jobId);
      expect((await chain.escrow.job(terms)).proved).toBe(segments);
      const gas = await chain.escrow.duties.gasOfProofs(terms);
      expect(Math.abs(gas / unit!.gas! - 1)).toBeLessThan(0.1);
    } finally {
      chain.close();
    }
  });

  it('has a bundle that verifies offline, every segment by its proof', async () => {
    const { policy } = readPolicy(profile.policy);
    const file = join(folder, 'job.vtb');
    writeWhole(file, await fetchBundle(jobId, profile, policy, openApi(profile)));
    const { tier, checks } = await verifyBundleFile(file, { policy: profile.policy });
    expect(tier).toBe('affirming');
    expect(checks.find(({ code }) => code === 'BUNDLE_PROOFS')?.status).toBe('met');
  });
});

async function killAtFirstPart(): Promise<readonly string[]> {
  let seen: readonly string[] = [];
  for (; seen.length === 0; await sleep(10)) seen = await eventsOf();
  process.kill(system.pidOf('prover-1'), 'SIGKILL');
  const atKill = await eventsOf();
  await system.restart('prover-1');
  return atKill;
}

/** Topics of what the verifier has told, in order. */
async function eventsOf(): Promise<readonly string[]> {
  const { deployment } = profile.chain;
  const { address } = deployment.extensions!.zkSplitVerifier!;
  const logs = await rpc.getLogs({ address, fromBlock: deployment.fromBlock });
  return logs.map(({ topics }) => topics[0]!);
}
