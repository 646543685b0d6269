/** One guest and its end, with a program in QEMU's place and the enclave itself behind it. */
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeFakeQemu } from '#test/fake-qemu';
import { runCommand } from '#test/run-command';
import { askGuest } from './ask-guest.js';
import { placesOf } from './places.js';
import { prepareGuest, runGuest } from './up.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-up-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const prepared = () => prepareGuest(placesOf(folder, 0));
const never = new AbortController().signal;

beforeAll(async () => {
  const [image, qemu] = [join(folder, 'image'), join(folder, 'qemu')];
  mkdirSync(image);
  for (const name of ['vmlinuz', 'initrd.img', 'cmdline']) writeFileSync(join(image, name), name);
  writeFakeQemu(qemu);
  const places = ['--dir', folder, '--image', image, '--qemu', qemu, '--run-dir', join(folder, 'run')];
  const { code } = await runCommand('host', 'init', '--profile', 'dev', ...places, '--state', join(folder, 'state'));
  expect(code).toBe(0);
});

it('ends well with its session', async () => {
  const guest = await prepared();
  const ended = runGuest(guest, never);
  await expect.poll(() => askGuest(guest.settings).catch(() => null)).toMatchObject({ kind: 'simulated-snp' });
  expect(await ended).toBe(0);
});

it('ends well when it is asked to, also before it has started', async () => {
  const stopping = new AbortController();
  const ended = runGuest(await prepared(), stopping.signal);
  stopping.abort();
  expect(await ended).toBe(0);
  expect(await runGuest(await prepared(), AbortSignal.abort())).toBe(0);
});

it('GUEST_QEMU_FAILED: is none where QEMU does not start', async () => {
  const guest = await prepared();
  const settings = { ...guest.settings, qemu: '/bin/false' };
  await expect(runGuest({ ...guest, settings }, never)).rejects.toMatchObject({ code: 'GUEST_QEMU_FAILED' });
});
