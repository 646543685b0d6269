/**
 * What an operator types, with a real guest: `host init`, then `host up`, which boots one to look at it and the next to serve
 * with. That one is killed in mid-training, another boots: the same bits, paid once.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildGuest, inputsCache, repository } from '#libs/guest';
import { checkpointAt, startTestSystem, stateIs } from '#test/embedded';
import { expectResumed, initHost, startHostUp } from '#test/host-up';
import { whyNoGuest } from '#test/no-guest';
import { smallManifest } from '#test/small-job';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-guest-host-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const qemu = 'qemu-system-x86_64';

const whyNot = await whyNoGuest('dev');
describe.skipIf(whyNot !== null)('host up with an emulated guest', () => {
  it('looks at a guest, serves with the next, and goes on in a third after that was killed', async () => {
    const image = join(folder, 'dev');
    await buildGuest('dev', image, { cache: inputsCache });
    const vendorFile = join(repository, 'enclave/guest/test-vendor.json');
    const test = await startTestSystem({}, { enclave: false, vendorFile });
    onTestFinished(() => test.stop());
    await initHost(test, folder, { image, qemu });
    const host = startHostUp(folder, {});
    onTestFinished(async () => void (await host.end()));
    const manifest = smallManifest({ steps: 1600 });
    const job = await test.submit('in-a-guest', manifest, 200);
    await test.told(job.jobId, checkpointAt(200));
    process.kill(host.partOf(qemu), 'SIGKILL');
    await test.told(job.jobId, stateIs('submitted', 'ENCLAVE_LOST'));
    await expectResumed(test, job, manifest, 2);
    expect(await host.end()).toBe(0);
    const said = host.said();
    expect(said).toMatch(/simulated-snp \(SIMULATED\)[^]*answered after[^]*guest ended with a signal/);
  }, 900_000);
});
