/** Every input that a host may get wrong, alone and two at a time, against the digest that it would give. */
import { describe, expect, it } from 'vitest';
import { madeFirmware } from '#test/made-firmware';
import { fromHex, toHex } from '../base/bytes.js';
import { explainMeasurement, type LaunchCandidates } from './explain.js';
import { launchDigest } from './launch-digest.js';
import { measurementOf, type LaunchShape, type MeasuredImage } from './manifest.js';
import { cpuSignature } from './vmsa.js';

const firmware = madeFirmware();
const otherFirmware = firmware.map((byte, at) => (at === 7 ? byte ^ 1 : byte));
const sha = (digit: string): string => digit.repeat(64);
const image: MeasuredImage = {
  files: { kernel: { sha256: sha('a'), bytes: 1 }, initrd: { sha256: sha('b'), bytes: 1 }, cmdline: 'rdinit=/init' },
};
const shape: LaunchShape = { vcpus: 4, cpu: 'EPYC-Milan', features: '0x1' };
const candidates: LaunchCandidates = {
  firmware: [
    { name: 'not for SEV', image: new Uint8Array(4096) },
    { name: '/usr/share/ovmf/OVMF.fd', image: otherFirmware },
  ],
  kernels: [sha('c')],
  initrds: [sha('d')],
  cmdlines: ['rdinit=/bin/sh'],
};
const filesWith = (change: Partial<MeasuredImage['files']>): MeasuredImage => ({
  files: { ...image.files, ...change },
});
const explain = (measured: string) =>
  explainMeasurement(image, firmware, shape, measured, candidates)?.map(({ input, expected, found }) => [
    ...[input, expected, found],
  ]);

describe('a measurement that is another', () => {
  it('has no explanation to look for where it is the expected one', () => {
    expect(explain(measurementOf(image, firmware, shape))).toEqual([]);
  });

  it.each<[string, MeasuredImage, Uint8Array, LaunchShape, string, string]>([
    ['firmware', image, otherFirmware, shape, 'that of the manifest', '/usr/share/ovmf/OVMF.fd'],
    ['kernel', filesWith({ kernel: { sha256: sha('c'), bytes: 1 } }), firmware, shape, sha('a'), sha('c')],
    ['initrd', filesWith({ initrd: { sha256: sha('d'), bytes: 1 } }), firmware, shape, sha('b'), sha('d')],
    ['command line', filesWith({ cmdline: 'rdinit=/bin/sh' }), firmware, shape, 'rdinit=/init', 'rdinit=/bin/sh'],
    ['command line', filesWith({ cmdline: 'rdinit=/init\n' }), firmware, shape, 'rdinit=/init', 'rdinit=/init\n'],
    ['vCPUs', image, firmware, { ...shape, vcpus: 37 }, '4', '37'],
    ['CPU model', image, firmware, { ...shape, cpu: 'EPYC-Genoa-v1' }, 'EPYC-Milan', 'EPYC-Genoa'],
    ['SEV_FEATURES', image, firmware, { ...shape, features: '0x21' }, '0x1', '0x21'],
  ])('is explained by %s', (input, launched, with_, as, expected, found) => {
    expect(explain(measurementOf(launched, with_, as))).toEqual([[input, expected, found]]);
  });

  it('is explained by two of them', () => {
    const launched = filesWith({ initrd: { sha256: sha('d'), bytes: 1 } });
    expect(explain(measurementOf(launched, firmware, { ...shape, vcpus: 8 }))).toEqual([
      ['initrd', sha('b'), sha('d')],
      ['vCPUs', '4', '8'],
    ]);
    expect(explain(measurementOf(image, firmware, { vcpus: 2, cpu: 'EPYC-Genoa', features: '0x1' }))).toEqual([
      ['vCPUs', '4', '2'],
      ['CPU model', 'EPYC-Milan', 'EPYC-Genoa'],
    ]);
  });

  it('is explained by kernel hashes that were left off, with what to do', () => {
    const { vcpus, features } = shape;
    const bare = { firmware, vcpus, cpuSignature: cpuSignature(shape.cpu), guestFeatures: BigInt(features) };
    const measured = toHex(launchDigest({ ...bare, vmm: 'QEMU' }));
    expect(explainMeasurement(image, firmware, shape, measured)).toMatchObject([
      { input: 'kernel hashes', found: 'off', action: expect.stringContaining('kernel-hashes=on') as string },
    ]);
  });

  it('stays unexplained where nothing at hand gives it', () => {
    expect(explain(toHex(fromHex('ff'.repeat(48))))).toBeUndefined();
    expect(explainMeasurement(image, firmware, shape, 'ff'.repeat(48))).toBeNull();
  });
});
