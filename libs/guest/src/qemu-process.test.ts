/** QEMU's life, with a program in its place that does as QEMU does, and with QEMU itself where it is installed. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startProcess } from '#libs/process';
import { qemuVersion, startGuest, type GuestMachine } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-qemu-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Takes the place of QEMU: `act` runs with `path`, the socket of the chardev. */
function standIn(name: string, act: string): string {
  const file = join(folder, name);
  const text = `#!${process.execPath}
const words = process.argv.slice(2);
if (words[0] === '--version') { console.log('QEMU emulator version 10.0.2 (stand-in for tests)\\nCopyright'); process.exit(0); }
const path = /path=([^,]+)/.exec(words.find((word) => word.startsWith('socket,')))[1];
${act}`;
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

const machine = (qemu: string): GuestMachine => ({
  ...{ qemu, kernel: join(folder, 'absent'), initrd: join(folder, 'absent'), cmdline: 'console=ttyS0' },
  ...{ vcpus: 1, memoryMiB: 64, channel: join(folder, 'run', 'c.sock'), console: join(folder, 'console.log') },
  platform: { kind: 'dev', accelerator: 'tcg' },
});
const serves = `require('net').createServer((s) => s.on('close', () => process.exit(0)).resume()).listen(path);`;

describe('a guest', () => {
  it('is there when its channel takes a connection, and ends with its session', async () => {
    const guest = await startGuest(machine(standIn('serves', serves)));
    connect(
      guest.command
        .find((word) => word.startsWith('socket,'))!
        .split('path=')[1]!
        .split(',')[0]!,
    ).end();
    expect(await guest.exited).toEqual({ status: 0, said: '' });
    expect(guest.isRunning()).toBe(false);
  });

  it('that is over before its channel was seen has had its session', async () => {
    const guest = await startGuest(machine(standIn('quick', 'process.exit(0);')));
    expect([await guest.exited, guest.isRunning()]).toEqual([{ status: 0, said: '' }, false]);
  });

  it('starts again where the socket of a former one was left', async () => {
    const deaf = await startGuest(machine(standIn('serves', serves)));
    await deaf.stop(1000);
    const again = await startGuest(machine(standIn('serves', serves)));
    await again.stop();
    expect((await again.exited).status).toBe(null);
  });

  it.each([
    ['vm-type SEV-SNP not supported by KVM', /SEV-SNP on/],
    ['Could not access KVM kernel module: No such file or directory', /kvm_amd/],
    ["sev_common_kvm_init: Failed to open /dev/sev 'Permission denied'", /\/dev\/sev/],
    ["unable to find CPU model 'EPYC-Turin'", /-cpu help/],
    ["'sev-snp-guest' is not a valid object type", /10\.0/],
    ['something new', /QEMU’s words/],
  ])('GUEST_QEMU_FAILED: with QEMU’s words and what to do: %s', async (words, action) => {
    const qemu = standIn('fails', `process.stderr.write(${JSON.stringify(`qemu: ${words}\n`)}); process.exitCode = 1;`);
    await expect(startGuest(machine(qemu))).rejects.toMatchObject({
      code: 'GUEST_QEMU_FAILED',
      detail: { got: `qemu: ${words}`, action: expect.stringMatching(action) as string },
    });
  });

  it('GUEST_QEMU_ABSENT: where the program is not there, or is another', async () => {
    await expect(startGuest(machine(join(folder, 'nothing')))).rejects.toMatchObject({ code: 'GUEST_QEMU_ABSENT' });
    await expect(qemuVersion(join(folder, 'nothing'))).rejects.toMatchObject({ code: 'GUEST_QEMU_ABSENT' });
    await expect(qemuVersion('/bin/true')).rejects.toMatchObject({ code: 'GUEST_QEMU_ABSENT' });
    expect(await qemuVersion(standIn('serves', serves))).toMatchObject({ major: 10, minor: 0 });
  });
});

const installed = (await startProcess(['qemu-system-x86_64', '--version'], { stdio: 'ignore' }).exited) === 0;
describe.skipIf(!installed)('QEMU itself', () => {
  it('takes every option and stops at the kernel that is not there', async () => {
    expect((await qemuVersion('qemu-system-x86_64')).major).toBeGreaterThanOrEqual(7);
    await expect(startGuest(machine('qemu-system-x86_64'))).rejects.toMatchObject({
      code: 'GUEST_QEMU_FAILED',
      detail: { got: expect.stringMatching(/could not open kernel file|absent/) as string },
    });
  });
});
