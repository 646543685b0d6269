/** Nodes that vanish, chains that change their mind, clients that ask twice: the same bits, paid once. */
import { JsonRpcProvider } from 'ethers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { encodeJobSpec, jobIdOf, termsJson, type Terms } from '#attestation/records';
import { fetchBundle, fetchResult, openChain, type CheckedResult, type ClientChain, type JobView } from '#libs/client';
import { readPolicy } from '#libs/client/judging';
import type { Manifest } from '#libs/step';
import { checkpointAt, startTestSystem, stateIs, type TestSystem } from '#test/embedded';
import { expectPaidOnce as paidOnce, seen, undisturbed as undisturbedBy } from '#test/outcome';
import { smallManifest } from '#test/small-job';
import { whileStopped } from '#test/stopped';
import { withDescendants } from '../faults/processes.js';

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

afterEach(() => test.gate.open());
const patient = { timeout: 60_000 };

describe('a node that vanishes', () => {
  const manifest = smallManifest({ steps: 1800 });

  it('in training: its lease expires, and the next one ends in the same bits and is paid once', async () => {
    test.gate.holdAt(600);
    const { jobId, terms } = await test.submit('vanished', manifest, 300);
    await test.told(jobId, checkpointAt(600));
    await test.system.kill('host-agent');
    await test.told(jobId, stateIs('submitted', 'LEASE_EXPIRED'));
    test.gate.open();
    await test.system.start('host-agent');
    await test.ended(jobId);
    expect((await settle(jobId)).stateDigest).toBe(await undisturbed(manifest));
    expect((await jobOf(jobId)).attempt).toBe(2);
    await expectPaidOnce(jobId, terms);
  });

  it('and comes back with its enclave still at work: that run is let go, and a fresh session ends it', async () => {
    test.gate.holdAt(300);
    const { jobId, terms } = await test.submit('paused', manifest, 300);
    await test.told(jobId, checkpointAt(300));
    await whileStopped(withDescendants(test.system.pidOf('host-agent')), () =>
      test.told(jobId, stateIs('submitted', 'LEASE_EXPIRED')),
    );
    test.gate.open();
    const job = await test.ended(jobId);
    expect(job.state).toBe('delivered');
    expect(job.attempt).toBeGreaterThan(1);
    expect((await settle(jobId)).stateDigest).toBe(await undisturbed(manifest));
    await expectPaidOnce(jobId, terms);
  });

  it('between delivery and payment: its result is on disk, committed after the restart and paid once', async () => {
    test.gate.holdAt(300);
    const { jobId, terms } = await test.submit('delivered', manifest, 300);
    await test.told(jobId, checkpointAt(300));
    await whileStopped([test.system.chainPid], async () => {
      test.gate.open();
      expect((await test.ended(jobId)).state).toBe('delivered');
      await test.system.kill('host-agent');
    });
    expect((await chain.escrow.job(terms)).state).toBe('Started');
    await test.system.start('host-agent');
    expect((await settle(jobId)).stateDigest).toBe(await undisturbed(manifest));
    await expectPaidOnce(jobId, terms);
  });
});

describe('a chain that is reorganised', () => {
  const isCommitted = async (terms: Terms) =>
    expect.poll(async () => (await chain.escrow.job(terms)).state, patient).toBe('Committed');

  it('after the commitment: the node commits again and is paid once', async () => {
    const manifest = smallManifest({ steps: 1200 });
    test.gate.holdAt(300);
    const { jobId, terms } = await test.submit('uncommitted', manifest, 300);
    await test.told(jobId, checkpointAt(300));
    const snapshot: unknown = await rpc.send('evm_snapshot', []);
    test.gate.open();
    await test.ended(jobId);
    await isCommitted(terms);
    await rpc.send('evm_revert', [snapshot]);
    await isCommitted(terms);
    await settle(jobId);
    await expectPaidOnce(jobId, terms);
  });

  it('after the payment: the control plane says so, and says settled again when the chain does', async () => {
    const manifest = smallManifest();
    const { jobId, terms } = await test.submit('unsettled', manifest, 200);
    await test.ended(jobId);
    await isCommitted(terms);
    const snapshot: unknown = await rpc.send('evm_snapshot', []);
    const { verdict } = await settle(jobId);
    const revealed = await chain.revealed(terms);
    await expectPaidOnce(jobId, terms);
    await rpc.send('evm_revert', [snapshot]);
    await expect
      .poll(() => jobOf(jobId), patient)
      .toMatchObject({ state: 'delivered', escrowState: 'committed', settlementTransaction: null });
    await chain.escrow.delivery.acknowledge(terms);
    const { ciphertextDigest } = verdict.bundle.delivery;
    // The challenge window may begin anew with the blocks that were taken back.
    const finalize = () => chain.escrow.finalize(terms, { ciphertextDigest, key: revealed!.key });
    await expect.poll(finalize, patient).toMatchObject({ txHash: expect.any(String) as string });
    await expect.poll(() => jobOf(jobId), patient).toMatchObject({ state: 'settled' });
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
    expect(jobId).toBe(to0x(jobIdOf(spec)));
    await chain.escrow.open(terms);
    await test.ended(jobId);
    await settle(jobId);
    await expectPaidOnce(jobId, terms);
  });
});
