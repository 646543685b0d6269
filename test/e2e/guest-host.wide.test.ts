/** A host whose enclave is in a guest: the guest is killed in mid-training, another boots, the same bits, paid once. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { startDevelopmentGuests } from '../../apps/cli/src/guest/development-machine.js';
import { fetchBundle, fetchResult, openChain, readPolicy, type JobView, type Submitted } from '#libs/client';
import type { Manifest } from '#libs/step';
import { checkpointAt, startTestSystem, stateIs, type TestSystem } from '#test/embedded';
import { whyNoGuest } from '#test/no-guest';
import { expectPaidOnce, undisturbed } from '#test/outcome';
import { smallManifest } from '#test/small-job';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-guest-host-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** It ends in the bits of a run that nothing happened to, in its second session, and is paid once. */
async function expectResumed(test: TestSystem, { jobId, terms }: Submitted, manifest: Manifest): Promise<void> {
  await test.ended(jobId);
  const rpc = new JsonRpcProvider(test.profile.chain.rpcUrl, undefined, { cacheTimeout: -1 });
  const chain = openChain(test.profile);
  try {
    const { policy } = readPolicy(test.profile.policy);
    const { stateDigest } = await fetchResult(jobId, test.profile, policy, test.api);
    await fetchBundle(jobId, test.profile, policy, test.api);
    expect(stateDigest).toBe(await undisturbed(test, manifest));
    expect((await test.api.get<JobView>(`jobs/${jobId}`)).attempt).toBe(2);
    await expectPaidOnce({ test, chain, rpc }, jobId, terms);
  } finally {
    chain.close();
    rpc.destroy();
  }
}

const whyNot = await whyNoGuest('dev');
describe.skipIf(whyNot !== null)('a host agent whose enclave is in an emulated guest', () => {
  it('goes on in the next guest after the one that was killed', async () => {
    const ends: string[] = [];
    const guests = await startDevelopmentGuests(join(folder, 'dev'), (line) => ends.push(line));
    onTestFinished(() => guests.stop());
    const { enclaveAddress, vendorFile } = guests;
    const test = await startTestSystem({}, { enclaveAddress, vendorFile });
    try {
      const manifest = smallManifest({ steps: 1600 });
      const job = await test.submit('in-a-guest', manifest, 200);
      await test.told(job.jobId, checkpointAt(200));
      process.kill(guests.pid(), 'SIGKILL');
      await test.told(job.jobId, stateIs('submitted', 'ENCLAVE_LOST'));
      await expectResumed(test, job, manifest);
      expect(ends).toEqual(['guest ended with a signal']);
    } finally {
      await test.stop();
    }
  }, 900_000);
});
