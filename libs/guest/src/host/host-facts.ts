/** What a host says of itself, read below a root folder: files of /proc, /sys and /dev, and QEMU's version. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statfsSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { qemuVersion } from '../qemu-process.js';

type Access = 'open' | 'denied' | 'absent';

export interface HostFacts {
  readonly kernel: { readonly major: number; readonly minor: number; readonly text: string } | null;
  readonly cpuModel: string;
  /** Product by family and model; null for another processor. */
  readonly product: 'Milan' | 'Genoa' | 'Turin' | null;
  readonly kvm: Access;
  readonly sev: Access;
  /** Of kvm_amd: Y, N, 1, 0; null where it is not loaded or does not have it. */
  readonly sevSnp: string | null;
  readonly debugSwap: string | null;
  readonly iommus: number;
  /** CPUID Fn8000_001F EBX; null where /dev/cpu/0/cpuid cannot be read. */
  readonly encryption: { readonly cbitpos: number; readonly reducedPhysBits: number } | null;
  readonly memoryAvailableMiB: number;
  /** Where the state directory is. */
  readonly diskFreeMiB: number;
  readonly qemu: { readonly major: number; readonly minor: number; readonly text: string } | null;
}

const encryptionLeaf = 0x8000001f;

/** @param root  `/`, or a folder that stands in for it */
export async function readHostFacts(root: string, qemu: string, stateDirectory: string): Promise<HostFacts> {
  const text = (path: string): string | null => readIfThere(join(root, path));
  const cpu = text('proc/cpuinfo') ?? '';
  const cpuField = (name: string): string => new RegExp(`^${name}\\s*: (.*)$`, 'm').exec(cpu)?.[1] ?? '';
  const release = text('proc/sys/kernel/osrelease')?.trim() ?? '';
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})/.exec(release) ?? [];
  const parameter = (name: string): string | null => text(`sys/module/kvm_amd/parameters/${name}`)?.trim() ?? null;
  return {
    kernel: major === undefined ? null : { major: Number(major), minor: Number(minor), text: release },
    cpuModel: cpuField('model name'),
    product: cpuField('vendor_id') === 'AuthenticAMD' ? productOf(cpuField('cpu family'), cpuField('model')) : null,
    kvm: accessOf(join(root, 'dev/kvm')),
    sev: accessOf(join(root, 'dev/sev')),
    sevSnp: parameter('sev_snp'),
    debugSwap: parameter('debug_swap'),
    iommus: entriesOf(join(root, 'sys/class/iommu')),
    encryption: readEncryption(join(root, 'dev/cpu/0/cpuid')),
    memoryAvailableMiB: Math.floor(
      Number(/^MemAvailable:\s+(\d+) kB$/m.exec(text('proc/meminfo') ?? '')?.[1] ?? 0) / 1024,
    ),
    diskFreeMiB: freeOf(stateDirectory),
    qemu: await versionOf(qemu),
  };
}

/** AMD 57230 table 1: family 19h models 0h to Fh are Milan, 10h to 1Fh and A0h to AFh Genoa and its kin, 1Ah Turin. */
function productOf(familyText: string, modelText: string): HostFacts['product'] {
  const [family, model] = [Number(familyText), Number(modelText)];
  if (family === 0x1a) return 'Turin';
  if (family !== 0x19) return null;
  return model < 0x10 ? 'Milan' : model < 0x20 || model >= 0xa0 ? 'Genoa' : null;
}

function readEncryption(path: string): HostFacts['encryption'] {
  const registers = Buffer.alloc(16);
  try {
    const file = openSync(path, 'r');
    try {
      if (readSync(file, registers, 0, 16, encryptionLeaf) !== 16) return null;
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
  const ebx = registers.readUInt32LE(4);
  return { cbitpos: ebx & 63, reducedPhysBits: (ebx >>> 6) & 63 };
}

function accessOf(path: string): Access {
  if (!existsSync(path)) return 'absent';
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return 'open';
  } catch {
    return 'denied';
  }
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function entriesOf(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}

/** Of the nearest folder that is there: before `host init` the settings' own is not. */
function freeOf(folder: string): number {
  const above = dirname(resolve(folder));
  if (!existsSync(folder) && above !== resolve(folder)) return freeOf(above);
  try {
    const { bavail, bsize } = statfsSync(folder);
    return Math.floor((bavail * bsize) / 2 ** 20);
  } catch {
    return 0;
  }
}

async function versionOf(qemu: string): Promise<HostFacts['qemu']> {
  try {
    return await qemuVersion(qemu);
  } catch (error) {
    if (error instanceof ConfigurationError) return null;
    throw error;
  }
}
