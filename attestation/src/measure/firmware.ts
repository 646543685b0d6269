/**
 * Firmware images that refuse a kernel whose hashes were not launched with it. A kernel-hashes section alone is no proof:
 * images exist that have it and start any kernel.
 */
interface EnforcingFirmware {
  readonly name: string;
  /** Of the image, hexadecimal. */
  readonly sha256: string;
  /** When a launch without hashes was seen to be refused. */
  readonly seen: string;
}

export const enforcingFirmware: readonly EnforcingFirmware[] = [
  {
    name: 'ovmf-amdsev 2026.08+ds-2',
    sha256: '3e4fd0b3fe3b2dbe481c3d9e99418a034174f26cbe1f55aa212b0f18c12d2d6f',
    seen: '2026-11-22',
  },
];

/** @returns its name in the list, undefined where it is not on it */
export function enforcingFirmwareName(sha256: string): string | undefined {
  return enforcingFirmware.find((image) => image.sha256 === sha256)?.name;
}
