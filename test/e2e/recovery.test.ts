/** Nodes that vanish, chains that change their mind, clients that ask twice: the same bits, paid once. */
import { execFileSync } from 'node:child_process';
import { JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openChain, type ClientChain } from '../../apps/cli/src/job/chain.js';
import type { JobView } from '../../apps/cli/src/job/follow.js';
import { fetchBundle, fetchResult, type CheckedResult } from '../../apps/cli/src/job/result.js';
import { readPolicy } from '../../apps/cli/src/policy.js';
import { encodeJobSpec, jobIdOf, termsJson, toHex, type Terms } from '#attestation';
import type { Manifest } from '#libs/step';
import { startTestSystem, type TestSystem } from '#test/embedded';
import { expectPaidOnce as paidOnce, seen, undisturbed as undisturbedBy } from '#test/outcome';
import { smallManifest } from '#test/small-job';

let test: TestSystem;
let chain: ClientChain;
let rpc: JsonRpcProvider;
const shortLease = { VERITRAIN_LEASE_SECONDS: '5', VERITRAIN_HEARTBEAT_SECONDS: '1' };
beforeAll(async () => {
  test = await startTestSystem(shortLease);
  chain = openChain(test.profile);
  rpc = new JsonRpcProvider(test.profile.chain.rpcUrl, undefined, { cacheTimeout: -1 });
}, 120_000);
afterAll(async () => {
  chain?.close();
  rpc?.destroy();
  await test?.stop();
});

const jobOf = (jobId: string) => test.api.get<JobView>(`jobs/${jobId}`);
async function settle(jobId: string): Promise<CheckedResult> {
  const { policy } = readPolicy(test.profile.policy);
  const result = await fetchResult(jobId, test.profile, policy, test.api);
  await fetchBundle(jobId, test.profile, policy, test.api);
  return result;
}

const undisturbed = (manifest: Manifest) => undisturbedBy(test, manifest);
const expectPaidOnce = (jobId: string, terms: Terms) => paidOnce({ test, chain, rpc }, jobId, terms);

const signal = (app: 'host-agent', name: NodeJS.Signals) => process.kill(test.system.pidOf(app), name);

describe('a node that vanishes', () => {
  it('in training: its lease expires, and the next one ends in the same bits and is paid once', async () => {
    const manifest = smallManifest({ steps: 12_000 });
    const { jobId, terms } = await test.submit('vanished', manifest, 300);
    let gone = false;
    await test.ended(jobId, (step) => {
      if (step < 600 || gone) return;
      gone = true;
      signal('host-agent', 'SIGKILL');
      void expect
        .poll(async () => (await jobOf(jobId)).state, { timeout: 20_000, interval: 100 })
        .toBe('submitted')
        .then(() => test.system.restart('host-agent'));
    });
    expect(gone).toBe(true);
    expect((await settle(jobId)).stateDigest).toBe(await undisturbed(manifest));
    expect((await jobOf(jobId)).attempt).toBe(2);
    await expectPaidOnce(jobId, terms);
  });

  it('and comes back with its enclave still at work: that run is let go, and a fresh session ends it', async () => {
    const manifest = smallManifest({ steps: 12_000 });
    const { jobId, terms } = await test.submit('paused', manifest, 300);
    const host = String(test.system.pidOf('host-agent'));
    const both = (name: string) => {
      execFileSync('pkill', [`-${name}`, '-P', host]);
      process.kill(Number(host), `SIG${name}` as NodeJS.Signals);
    };
    let paused = false;
    const job = await test.ended(jobId, (step) => {
      if (step < 300 || paused) return;
      paused = true;
      both('STOP');
      void expect
        .poll(async () => (await jobOf(jobId)).state, { timeout: 20_000, interval: 100 })
        .toBe('submitted')
        .then(() => both('CONT'));
    });
    expect(job.state).toBe('delivered');
    expect(job.attempt).toBeGreaterThan(1);
    expect((await settle(jobId)).stateDigest).toBe(await undisturbed(manifest));
    await expectPaidOnce(jobId, terms);
  });

  it('between delivery and payment: its result is on disk, committed after the restart and paid once', async () => {
    const manifest = smallManifest({ steps: 1200 });
    const { jobId, terms } = await test.submit('delivered', manifest, 300);
    let stopped = false;
    const job = await test.ended(jobId, () => {
      if (!stopped) process.kill(test.system.chainPid, 'SIGSTOP');
      stopped = true;
    });
    expect(job.state).toBe('delivered');
    signal('host-agent', 'SIGKILL');
    process.kill(test.system.chainPid, 'SIGCONT');
    expect((await chain.escrow.job(terms)).state).toBe('Started');
    await test.system.restart('host-agent');
    expect((await settle(jobId)).stateDigest).toBe(await undisturbed(manifest));
    await expectPaidOnce(jobId, terms);
  });
});

describe('a chain that is reorganised', () => {
  it('after the commitment: the node commits again and is paid once', async () => {
    const manifest = smallManifest({ steps: 1200 });
    const { jobId, terms } = await test.submit('uncommitted', manifest, 300);
    const snapshots: Promise<string>[] = [];
    await test.ended(jobId, () => {
      if (snapshots.length === 0) snapshots.push(rpc.send('evm_snapshot', []) as Promise<string>);
    });
    await expect.poll(async () => (await chain.escrow.job(terms)).state, { timeout: 20_000 }).toBe('Committed');
    await rpc.send('evm_revert', await Promise.all(snapshots));
    await expect.poll(async () => (await chain.escrow.job(terms)).state, { timeout: 20_000 }).toBe('Committed');
    await settle(jobId);
    await expectPaidOnce(jobId, terms);
  });

  it('after the payment: the control plane says so, and says settled again when the chain does', async () => {
    const manifest = smallManifest();
    const { jobId, terms } = await test.submit('unsettled', manifest, 200);
    await test.ended(jobId);
    await expect.poll(async () => (await chain.escrow.job(terms)).state, { timeout: 20_000 }).toBe('Committed');
    const snapshot = (await rpc.send('evm_snapshot', [])) as string;
    const { verdict } = await settle(jobId);
    const revealed = await chain.revealed(terms);
    await expectPaidOnce(jobId, terms);
    await rpc.send('evm_revert', [snapshot]);
    await expect
      .poll(() => jobOf(jobId), { timeout: 20_000 })
      .toMatchObject({ state: 'delivered', escrowState: 'committed', settlementTransaction: null });
    await chain.escrow.acknowledge(terms);
    const { ciphertextDigest } = verdict.bundle.delivery;
    await chain.escrow.finalize(terms, { ciphertextDigest, key: revealed!.key });
    await expect.poll(() => jobOf(jobId), { timeout: 20_000 }).toMatchObject({ state: 'settled' });
    expect(await seen({ test, chain, rpc }, 'JobEnded', terms)).toBe(1);
  });
});

describe('a client that asks twice', () => {
  it('has one job and one escrow', async () => {
    const { jobId, spec, terms } = await test.submit('twice', smallManifest(), 200);
    const policy = Buffer.from(readPolicy(test.profile.policy).bytes).toString('base64');
    const body = {
      spec: Buffer.from(encodeJobSpec(spec)).toString('base64'),
      terms: termsJson(terms),
      policy,
      brokerUrl: test.profile.broker.url,
    };
    await expect(test.api.post('jobs', body)).rejects.toMatchObject({ code: 'JOB_DUPLICATE' });
    expect(jobId).toBe(`0x${toHex(jobIdOf(spec))}`);
    await chain.escrow.open(terms);
    await test.ended(jobId);
    await settle(jobId);
    await expectPaidOnce(jobId, terms);
  });
});
