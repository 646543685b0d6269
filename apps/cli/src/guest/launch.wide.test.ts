/** The manifest of the real image with the locked firmware: every launch is what an independent calculator gives. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { enforcingFirmware, firmwareLaunch } from '#attestation';
import { buildGuest, fetchGuest, inputsCache } from '#libs/guest';
import { calculatedDigest, type CalculatedLaunch } from '#test/launch-calculator';
import { manifestOf } from './manifest.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-launch-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const whyNot = await fetchGuest('cpu', { cache: inputsCache }).then(
  () => null,
  (error: { code?: string }) => error.code ?? String(error),
);
if (whyNot !== null) process.stderr.write(`skipped: no inputs of the guest: ${whyNot}\n`);

it.skipIf(whyNot !== null).each([
  [false, 21],
  [true, 3],
])(
  'without ACPI: %s: all %i launches',
  async (isAcpiOff, count) => {
    await buildGuest('cpu', folder, { cache: inputsCache }, { isAcpiOff });
    const read = (name: string): Buffer => readFileSync(join(folder, name));
    const hash = (name: string): Buffer => createHash('sha256').update(read(name)).digest();
    expect(/ acpi=off$/.test(read('cmdline').toString('utf8'))).toBe(isAcpiOff);
    const { launch, firmware } = await manifestOf(folder, { tag: 'v1', commit: '0'.repeat(40), svn: 1 });
    const image = { firmware: read('firmware.fd'), kernel: hash('vmlinuz'), initrd: hash('initrd.img') };
    const calculated = launch.map(({ vcpus, cpu, features }) =>
      calculatedDigest({
        ...{ ...image, commandLine: read('cmdline').toString('utf8'), vcpus },
        ...{ cpu: cpu as CalculatedLaunch['cpu'], features: Number(features) },
      }),
    );
    expect(launch.map(({ measurement }) => measurement)).toEqual(calculated);
    expect(new Set(calculated).size).toBe(count);
    const listed = enforcingFirmware.find(({ sha256 }) => sha256 === firmware.sha256);
    expect(listed?.launch).toEqual(firmwareLaunch(new Uint8Array(image.firmware)));
  },
  600_000,
);
