/** `host init` and `host up` for an account of a running system: a program in QEMU's place, the enclave itself behind it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { checkpointAt, startTestSystem, stateIs } from '#test/embedded';
import { writeFakeQemu } from '#test/fake-qemu';
import { expectResumed, initHost, startHostUp } from '#test/host-up';
import { smallManifest } from '#test/small-job';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-host-up-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const vendorFile = 'test/support/fixtures/test-vendor-milan.json';

function madeImage(): { readonly image: string; readonly qemu: string } {
  const [image, qemu] = [join(folder, 'image'), join(folder, 'qemu')];
  mkdirSync(image);
  for (const name of ['vmlinuz', 'initrd.img', 'cmdline']) writeFileSync(join(image, name), name);
  writeFakeQemu(qemu);
  return { image, qemu };
}

describe('host up', () => {
  it('checks, serves, starts what ends again, and ends well when it is asked to', async () => {
    const test = await startTestSystem({}, { enclave: false, vendorFile });
    onTestFinished(() => test.stop());
    await initHost(test, folder, madeImage());
    const host = startHostUp(folder, test.gate.environment);
    onTestFinished(async () => void (await host.end()));
    const manifest = smallManifest({ steps: 1600 });
    test.gate.holdAt(200);
    const job = await test.submit('behind-host-up', manifest, 200);
    await test.told(job.jobId, checkpointAt(200));
    process.kill(host.partOf('fake-qemu-main'), 'SIGKILL');
    test.gate.holdAt(600);
    await test.told(job.jobId, stateIs('submitted', 'ENCLAVE_LOST'));
    await test.told(job.jobId, checkpointAt(600));
    process.kill(host.partOf('host-agent'), 'SIGKILL');
    test.gate.open();
    await expectResumed(test, job, manifest, 3);
    expect(await host.end()).toBe(0);
    expect(host.said()).toContain('SIMULATED');
    expect(host.said()).toContain('guest ended with a signal');
    expect(host.said()).toContain('the host agent ended; it is started again');
  }, 600_000);
});
