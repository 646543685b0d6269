/** The launch digest of a guest from its published parts. */
import { cpuSignature, evidenceBytesMax, launchDigest, parseSnpReport, type Vmm } from '#attestation';
import { toHex } from '#attestation/base';
import { readBytes } from '#libs/client/files';

export interface GuestFiles {
  readonly ovmf: string;
  /** LD after the firmware's pages, 48 bytes, where only the end of the image is at hand. */
  readonly ovmfDigest?: Uint8Array;
  readonly kernel?: string;
  readonly initrd?: string;
  readonly append?: string;
  readonly vcpus: number;
  readonly vcpuType: string;
  readonly vmm: Vmm;
  /** SEV_FEATURES. */
  readonly guestFeatures: bigint;
  /** A report whose MEASUREMENT is held against the digest. */
  readonly report?: string;
}

interface Measured {
  /** 48 bytes, hexadecimal. */
  readonly measurement: string;
  readonly report?: { readonly measurement: string; readonly equal: boolean };
}

const firmwareMax = 64 * 1024 * 1024;
const kernelMax = 512 * 1024 * 1024;
const initrdMax = 1024 * 1024 * 1024;

/** @throws ConfigurationError FILE_*; Rejection SNP_MEASURE_*, SNP_REPORT_* */
export function measureGuest(files: GuestFiles): Measured {
  const digest = launchDigest({
    firmware: readBytes(files.ovmf, firmwareMax),
    ...(files.ovmfDigest && { firmwareDigest: files.ovmfDigest }),
    ...(files.kernel !== undefined && {
      kernel: {
        image: readBytes(files.kernel, kernelMax),
        initrd: files.initrd === undefined ? new Uint8Array() : readBytes(files.initrd, initrdMax),
        commandLine: files.append ?? '',
      },
    }),
    vcpus: files.vcpus,
    cpuSignature: cpuSignature(files.vcpuType),
    guestFeatures: files.guestFeatures,
    vmm: files.vmm,
  });
  const measurement = toHex(digest);
  if (files.report === undefined) return { measurement };
  const reported = toHex(parseSnpReport(readBytes(files.report, evidenceBytesMax)).measurement);
  return { measurement, report: { measurement: reported, equal: reported === measurement } };
}
