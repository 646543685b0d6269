/**
 * Firmware images that refuse a kernel whose hashes were not launched with it. A kernel-hashes section alone is no proof:
 * images exist that have it and start any kernel.
 */
import { toHex } from '../base/bytes.js';
import { firmwareDigest, type FirmwareTable } from './launch-digest.js';
import { parseOvmf } from './ovmf.js';

interface EnforcingFirmware {
  readonly name: string;
  /** Of the image, hexadecimal. */
  readonly sha256: string;
  /** When a launch without hashes was seen to be refused. */
  readonly seen: string;
  readonly launch: FirmwareLaunch;
}

/** All that a launch digest needs of an image, so that whoever has no image can compute one. */
interface FirmwareLaunch extends FirmwareTable {
  /** LD after the firmware's pages, hexadecimal. */
  readonly digest: string;
}

export const enforcingFirmware: readonly EnforcingFirmware[] = [
  {
    name: 'ovmf-amdsev 2026.08+ds-2',
    sha256: '3e4fd0b3fe3b2dbe481c3d9e99418a034174f26cbe1f55aa212b0f18c12d2d6f',
    seen: '2026-11-22',
    launch: {
      digest: '9d0dd8be18c86e3fe3bf0038ed75ebf5340bee69fd2632c8ff9409964575960ae1f7e84be387d2e3467bc3508d1e4806',
      sections: [
        { kind: 'sec-mem', gpa: 0x800000, size: 0x9000 },
        { kind: 'sec-mem', gpa: 0x80a000, size: 0x3000 },
        { kind: 'secrets', gpa: 0x80d000, size: 0x1000 },
        { kind: 'cpuid', gpa: 0x80e000, size: 0x1000 },
        { kind: 'svsm-caa', gpa: 0x80f000, size: 0x1000 },
        { kind: 'sec-mem', gpa: 0x811000, size: 0x1f000 },
        { kind: 'kernel-hashes', gpa: 0x810000, size: 0x1000 },
      ],
      hashTableGpa: 0x810c00,
      resetEip: 0x80b004,
    },
  },
];

/** @throws Rejection SNP_MEASURE_FIRMWARE */
export function firmwareLaunch(image: Uint8Array): FirmwareLaunch {
  const ovmf = parseOvmf(image);
  const { sections, hashTableGpa, resetEip } = ovmf;
  const digest = toHex(firmwareDigest(ovmf));
  return { digest, sections, ...(hashTableGpa !== undefined && { hashTableGpa }), resetEip };
}

/** @returns undefined where the image is not in the list */
export function enforcingFirmwareOf(sha256: string): EnforcingFirmware | undefined {
  return enforcingFirmware.find((image) => image.sha256 === sha256);
}

/** @returns its name in the list, undefined where it is not on it */
export function enforcingFirmwareName(sha256: string): string | undefined {
  return enforcingFirmwareOf(sha256)?.name;
}
