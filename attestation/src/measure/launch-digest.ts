/**
 * MEASUREMENT computed offline: SHA-384 chained over every page the hypervisor loads before launch (AMD 56860 §8.17,
 * PAGE_INFO). Ties a report to a published firmware, kernel, initrd and command line.
 */
import { sha256, sha384 } from '@noble/hashes/sha2.js';
import { concatBytes, uintBe, utf8 } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { vcpusMax } from '../base/limits.js';
import { guestPageBytes, guidBytes, parseOvmf } from './ovmf.js';
import type { Ovmf } from './ovmf.js';
import { bspResetEip, buildVmsa } from './vmsa.js';
import type { Vmm } from './vmsa.js';

export interface LaunchInput {
  /** OVMF image. */
  readonly firmware: Uint8Array;
  /** LD after the firmware pages, 48 bytes, when the firmware at hand is only the end of the image that was loaded. */
  readonly firmwareDigest?: Uint8Array;
  /** Absent when the guest boots from its disk and the firmware holds no kernel hashes. */
  readonly kernel?: KernelFiles | KernelHashes;
  readonly vcpus: number;
  /** CPUID Fn0000_0001_EAX; see `cpuSignature`. */
  readonly cpuSignature: number;
  /** SEV_FEATURES: bit 0 SNP active, bit 5 debug swap, and so on. */
  readonly guestFeatures: bigint;
  readonly vmm: Vmm;
}

interface KernelFiles {
  readonly image: Uint8Array;
  readonly initrd: Uint8Array;
  readonly commandLine: string;
}

/** The same by SHA-256 of kernel and initrd, as a manifest states them. */
interface KernelHashes {
  readonly imageSha256: Uint8Array;
  readonly initrdSha256: Uint8Array;
  readonly commandLine: string;
}

const pageTypes = { normal: 1, vmsa: 2, zero: 3, unmeasured: 4, secrets: 5, cpuid: 6 } as const;
const vmsaGpa = 0xfffffffff000;
const zeroDigest = new Uint8Array(48);

/**
 * @returns 48 bytes
 * @throws Rejection SNP_MEASURE_FIRMWARE, SNP_MEASURE_VCPUS, SNP_MEASURE_KERNEL
 */
export function launchDigest(input: LaunchInput): Uint8Array {
  if (!Number.isSafeInteger(input.vcpus) || input.vcpus < 1 || input.vcpus > vcpusMax) {
    refuse('SNP_MEASURE_VCPUS', `1 to ${vcpusMax}`, `${input.vcpus}`);
  }
  const ovmf = parseOvmf(input.firmware);
  return digestAfterFirmware(ovmf, input.firmwareDigest ?? firmwareDigest(ovmf), input);
}

/** What of its firmware a launch digest needs besides LD after the firmware's pages. */
export type FirmwareTable = Pick<Ovmf, 'sections' | 'hashTableGpa' | 'resetEip'>;
type AfterFirmware = Omit<LaunchInput, 'firmware' | 'firmwareDigest'>;

/**
 * @param start  LD after the firmware's pages, 48 bytes
 * @returns 48 bytes
 * @throws Rejection SNP_MEASURE_FIRMWARE, SNP_MEASURE_KERNEL
 */
export function digestAfterFirmware(ovmf: FirmwareTable, start: Uint8Array, input: AfterFirmware): Uint8Array {
  if (start.length !== 48) refuse('SNP_MEASURE_FIRMWARE', '48 bytes of firmware digest', `${start.length}`);
  let digest = metadataPages(start, ovmf, input);
  const saveArea = (eip: number): Uint8Array =>
    sha384(buildVmsa(eip, input.cpuSignature, input.guestFeatures, input.vmm));
  digest = extend(digest, pageTypes.vmsa, vmsaGpa, saveArea(bspResetEip));
  const further = input.vcpus > 1 ? saveArea(ovmf.resetEip) : zeroDigest;
  for (let cpu = 1; cpu < input.vcpus; cpu++) digest = extend(digest, pageTypes.vmsa, vmsaGpa, further);
  return digest;
}

/** LD after the firmware's pages, 48 bytes: the long part of a launch digest. */
export function firmwareDigest({ gpa, image }: Ovmf): Uint8Array {
  return normalPages(zeroDigest, gpa, image);
}

function metadataPages(start: Uint8Array, ovmf: FirmwareTable, { kernel, vmm }: AfterFirmware): Uint8Array {
  if (kernel !== undefined && !ovmf.sections.some(({ kind }) => kind === 'kernel-hashes')) {
    refuse('SNP_MEASURE_KERNEL', 'firmware that measures a kernel', 'firmware without a kernel-hashes section');
  }
  let digest = start;
  for (const { kind, gpa, size } of ovmf.sections) {
    switch (kind) {
      case 'sec-mem':
        digest = contentless(digest, vmm === 'gce' ? pageTypes.unmeasured : pageTypes.zero, gpa, size);
        break;
      case 'svsm-caa':
        digest = contentless(digest, pageTypes.zero, gpa, size);
        break;
      case 'secrets':
        digest = extend(digest, pageTypes.secrets, gpa, zeroDigest);
        break;
      case 'cpuid':
        if (vmm !== 'ec2') digest = extend(digest, pageTypes.cpuid, gpa, zeroDigest);
        break;
      case 'kernel-hashes':
        digest =
          kernel === undefined
            ? contentless(digest, pageTypes.zero, gpa, size)
            : normalPages(digest, gpa, kernelHashesPage(kernel, ovmf, size));
        break;
    }
  }
  const last = vmm === 'ec2' ? ovmf.sections.filter(({ kind }) => kind === 'cpuid') : [];
  return last.reduce((before, { gpa }) => extend(before, pageTypes.cpuid, gpa, zeroDigest), digest);
}

/** LD' = SHA-384(LD ‖ contents ‖ u16 0x70 ‖ type ‖ IMI 0 ‖ permissions 0 0 0 ‖ 0 ‖ u64 GPA), integers little-endian. */
function extend(digest: Uint8Array, type: number, gpa: number, contents: Uint8Array): Uint8Array {
  return sha384(concatBytes(digest, contents, Uint8Array.of(0x70, 0, type, 0, 0, 0, 0, 0), uintBe(gpa, 8).reverse()));
}

function normalPages(start: Uint8Array, gpa: number, data: Uint8Array): Uint8Array {
  let digest = start;
  for (let offset = 0; offset < data.length; offset += guestPageBytes) {
    digest = extend(digest, pageTypes.normal, gpa + offset, sha384(data.subarray(offset, offset + guestPageBytes)));
  }
  return digest;
}

function contentless(start: Uint8Array, type: number, gpa: number, size: number): Uint8Array {
  let digest = start;
  for (let offset = 0; offset < size; offset += guestPageBytes) digest = extend(digest, type, gpa + offset, zeroDigest);
  return digest;
}

const hashTableGuid = guidBytes('9438d606-4f22-4cc9-b479-a793d411fd21');
const kernelGuid = guidBytes('4de79437-abd2-427f-b835-d5b172d2045b');
const initrdGuid = guidBytes('44baf731-3a2f-4bd7-9af1-41e29169781d');
const commandLineGuid = guidBytes('97d02dd8-bd20-4c94-aa78-e7714d36ab2a');

/** One page with the table of SHA-256 hashes at the place the firmware names (QEMU, target/i386/sev.c). */
function kernelHashesPage(kernel: NonNullable<LaunchInput['kernel']>, ovmf: FirmwareTable, size: number): Uint8Array {
  const entry = (guid: Uint8Array, hash: Uint8Array): Uint8Array => concatBytes(guid, Uint8Array.of(50, 0), hash);
  const hashes =
    'image' in kernel
      ? { initrd: sha256(kernel.initrd), image: sha256(kernel.image) }
      : { initrd: kernel.initrdSha256, image: kernel.imageSha256 };
  if (hashes.initrd.length !== 32 || hashes.image.length !== 32)
    refuse('SNP_MEASURE_KERNEL', 'SHA-256 of 32 bytes', 'another length');
  const entries = [
    entry(commandLineGuid, sha256(utf8(`${kernel.commandLine}\0`))),
    entry(initrdGuid, hashes.initrd),
    entry(kernelGuid, hashes.image),
  ];
  const table = concatBytes(hashTableGuid, Uint8Array.of(168, 0), ...entries);
  const offset = (ovmf.hashTableGpa ?? 0) % guestPageBytes;
  if (ovmf.hashTableGpa === undefined || size !== guestPageBytes || offset + table.length > guestPageBytes) {
    refuse('SNP_MEASURE_KERNEL', 'one page with room for the hash table', `${size} bytes`);
  }
  const page = new Uint8Array(guestPageBytes);
  page.set(table, offset);
  return page;
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'AMD 56860 §8.17; attestation/SPEC.md §5.7' });
}
