/** Guests that follow each other, with a program in QEMU's place. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { keepGuests, type GuestMachine } from './index.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-keep-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const qemu = join(folder, 'qemu');
const channel = join(folder, 'channel.sock');
const machine: GuestMachine = {
  ...{ qemu, channel, kernel: 'absent', initrd: 'absent', cmdline: 'quiet', vcpus: 1, memoryMiB: 64 },
  ...{ console: join(folder, 'console.log'), platform: { kind: 'dev', accelerator: 'tcg' } },
};

function standIn(act: string): void {
  writeFileSync(qemu, `#!${process.execPath}\n${act}`);
  chmodSync(qemu, 0o755);
}
const serves = `require('net').createServer((s) => s.on('close', () => process.exit(0)).resume()).listen('${channel}');`;

it('start again after each end, also where one does not start, until they are stopped', async () => {
  standIn(serves);
  const [said, stopping] = [[] as string[], new AbortController()];
  const guests = await keepGuests(machine, (line) => said.push(line), stopping.signal);
  const first = guests.pid();
  standIn(`process.stderr.write('cannot allocate memory'); process.exitCode = 1;`);
  process.kill(first, 'SIGKILL');
  await expect.poll(() => said.join()).toContain('cannot allocate memory');
  standIn(serves);
  await expect.poll(() => guests.pid()).not.toBe(first);
  stopping.abort();
  await guests.done;
  expect(said[0]).toBe('guest ended with a signal');
  expect(() => process.kill(guests.pid(), 0)).toThrow('ESRCH');
});

it('are none where the first does not start', async () => {
  standIn('process.exitCode = 1;');
  const none = keepGuests(machine, () => undefined, new AbortController().signal);
  await expect(none).rejects.toMatchObject({ code: 'GUEST_QEMU_FAILED' });
});

it('end at once where the signal has come before', async () => {
  standIn(serves);
  await (
    await keepGuests(machine, () => undefined, AbortSignal.abort())
  ).done;
});
