/** Real images booted under emulation: `dev` reaches `open`, `cpu` without SEV-SNP refuses, never answers and powers off. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { connectEnclave } from '#libs/enclave-channel';
import { buildGuest, inputsCache, readImage, startGuest } from '#libs/guest';
import { within } from '#libs/process';
import { whyNoGuest } from '#test/no-guest';
import { developmentMachine } from './development-machine.js';
import { runImage } from './run.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-boot-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const whyNot = await whyNoGuest('cpu', 'dev');
describe.skipIf(whyNot !== null)('a guest', () => {
  const bootedFrom = async (flavour: 'cpu' | 'dev') => {
    const out = join(folder, flavour);
    await buildGuest(flavour, out, { cache: inputsCache });
    return runImage({ folder: out, memory: 1024, accelerator: 'tcg', qemu: 'qemu-system-x86_64' });
  };

  it('of dev answers open, says that it is simulated and nothing of its program, and powers off with its session', async () => {
    const ran = await bootedFrom('dev');
    expect(ran).toMatchObject({ ok: true, flavour: 'dev', refusal: null, status: 0 });
    expect(ran.answerBytes).toBeGreaterThan(100);
    const own = ran.console
      .filter((line) => line.startsWith('{'))
      .map((line) => (JSON.parse(line) as { init: string }).init);
    expect(own).toEqual(['SIMULATED', 'INIT_NO_DEVICE']);
  }, 600_000);

  it('of dev with acpi=off has one processor of four, reads no ACPI table, answers open, and ends with its session', async () => {
    const out = join(folder, 'acpi-off');
    const { cmdline } = await buildGuest('dev', out, { cache: inputsCache }, { isAcpiOff: true });
    expect(cmdline.text).toMatch(/ acpi=off$/);
    const around = { qemu: 'qemu-system-x86_64', memory: 1024, accelerator: 'tcg', place: out } as const;
    const machine = developmentMachine(out, readImage(out), around);
    // The kernel tells of its processors where it is not told to be quiet.
    const guest = await startGuest({ ...machine, vcpus: 4, cmdline: cmdline.text.replace(' quiet', '') });
    try {
      const enclave = await connectEnclave(`unix:${machine.channel}`);
      const answer = await enclave.request('open', {
        ...{ provider: new Uint8Array(20), chainId: 0, registry: new Uint8Array(20) },
      });
      expect(answer.length).toBeGreaterThan(100);
      enclave.close();
      expect((await within(60_000, guest.exited))?.status).toBe(0);
    } finally {
      await guest.stop();
    }
    const told = readFileSync(machine.console, 'latin1');
    expect(told).toContain('smp: Brought up 1 node, 1 CPU');
    expect(told).toContain('ACPI: Interpreter disabled.');
    expect(told).not.toMatch(/ACPI: (RSDP|DSDT|FACP|Core revision)/);
    expect(told).toContain('reboot: Restarting system');
  }, 600_000);

  it('of cpu ends with TSM_ABSENT where there is no SEV-SNP, and never answers', async () => {
    const ran = await bootedFrom('cpu');
    expect(ran).toMatchObject({ ok: false, openSeconds: null, answerBytes: null, status: 0 });
    expect(ran.refusal).toMatchObject({ code: 'TSM_ABSENT' });
    expect(ran.console.join('\n')).toContain('"init":"INIT_ENDED"');
  }, 600_000);
});
