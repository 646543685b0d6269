/**
 * The save area a virtual CPU starts from, as the hypervisors fill it before launch; it is measured, so every byte
 * counts (AMD APM volume 2, table B-4; values as QEMU/KVM, EC2 and GCE set them).
 */
import { Rejection } from '../base/errors.js';

export type Vmm = 'QEMU' | 'ec2' | 'gce';

const pageBytes = 4096;
export const bspResetEip = 0xfffffff0;

/** 16-byte segment registers: selector u16, attributes u16, limit u32, base u64. */
const segmentOffsets = {
  es: 0x00,
  cs: 0x10,
  ss: 0x20,
  ds: 0x30,
  fs: 0x40,
  gs: 0x50,
  gdtr: 0x60,
  ldtr: 0x70,
  idtr: 0x80,
  tr: 0x90,
};

/** Offset and size of the other registers that are not zero. */
const registerFields = {
  efer: [0xd0, 8],
  cr4: [0x148, 8],
  cr0: [0x158, 8],
  dr7: [0x160, 8],
  dr6: [0x168, 8],
  rflags: [0x170, 8],
  rip: [0x178, 8],
  gPat: [0x268, 8],
  rdx: [0x310, 8],
  sevFeatures: [0x3b0, 8],
  xcr0: [0x3e8, 8],
  mxcsr: [0x408, 4],
  x87Fcw: [0x410, 2],
} as const;

/** What differs between hypervisors. */
interface VmmState {
  readonly ss: number;
  readonly tr: number;
  readonly gPat: bigint;
  readonly mxcsr: number;
  readonly x87Fcw: number;
}
const vmmStates: Readonly<Record<Vmm, VmmState>> = {
  QEMU: { ss: 0x93, tr: 0x8b, gPat: 0x7040600070406n, mxcsr: 0x1f80, x87Fcw: 0x37f },
  ec2: { ss: 0x92, tr: 0x83, gPat: 0x7040600070406n, mxcsr: 0, x87Fcw: 0 },
  gce: { ss: 0x93, tr: 0x8b, gPat: 0x70106n, mxcsr: 0, x87Fcw: 0 },
};

/**
 * @param eip           first instruction: `bspResetEip`, or the firmware's reset vector for further CPUs
 * @param signature     CPUID Fn0000_0001_EAX of the CPU model; only QEMU passes it on (in RDX)
 * @param guestFeatures SEV_FEATURES
 * @returns one page of 4096 bytes
 */
export function buildVmsa(eip: number, signature: number, guestFeatures: bigint, vmm: Vmm): Uint8Array {
  const page = new Uint8Array(pageBytes);
  const view = new DataView(page.buffer);
  const state = vmmStates[vmm];
  const segment = (name: keyof typeof segmentOffsets, attributes: number, selector = 0, base = 0): void => {
    const offset = segmentOffsets[name];
    view.setUint16(offset, selector, true);
    view.setUint16(offset + 2, attributes, true);
    view.setUint32(offset + 4, 0xffff, true);
    view.setBigUint64(offset + 8, BigInt(base), true);
  };
  for (const name of ['es', 'ds', 'fs', 'gs'] as const) segment(name, 0x93);
  segment('cs', vmm === 'ec2' && eip === bspResetEip ? 0x9a : 0x9b, 0xf000, (eip & 0xffff0000) >>> 0);
  segment('ss', state.ss);
  segment('gdtr', 0);
  segment('idtr', 0);
  segment('ldtr', 0x82);
  segment('tr', state.tr);
  const registers: Readonly<Record<keyof typeof registerFields, bigint>> = {
    efer: 0x1000n,
    cr4: 0x40n,
    cr0: 0x10n,
    dr7: 0x400n,
    dr6: 0xffff0ff0n,
    rflags: 0x2n,
    rip: BigInt(eip & 0xffff),
    gPat: state.gPat,
    rdx: vmm === 'QEMU' ? BigInt(signature) : 0x600n,
    sevFeatures: guestFeatures,
    xcr0: 1n,
    mxcsr: BigInt(state.mxcsr),
    x87Fcw: BigInt(state.x87Fcw),
  };
  for (const [name, value] of Object.entries(registers) as [keyof typeof registerFields, bigint][]) {
    const [offset, size] = registerFields[name];
    for (let i = 0; i < size; i++) page[offset + i] = Number((value >> BigInt(8 * i)) & 0xffn);
  }
  return page;
}

/** QEMU CPU models: family, model, stepping. Versioned names (`-v1` and so on) have the signature of their model. */
const cpuModels: Readonly<Record<string, readonly [number, number, number]>> = {
  EPYC: [23, 1, 2],
  'EPYC-IBPB': [23, 1, 2],
  'EPYC-Rome': [23, 49, 0],
  'EPYC-Milan': [25, 1, 1],
  'EPYC-Genoa': [25, 17, 0],
  'EPYC-Turin': [26, 0, 0],
};

/** Of which each launches as another. */
export const cpuModelNames: readonly string[] = Object.keys(cpuModels);

/** CPUID Fn0000_0001_EAX (AMD 25481) of a QEMU CPU model. @throws Rejection SNP_MEASURE_VCPU_TYPE */
export function cpuSignature(type: string): number {
  const found = cpuModels[type.replace(/-v\d$/, '')];
  if (found === undefined) {
    throw new Rejection('SNP_MEASURE_VCPU_TYPE', {
      expected: `${cpuModelNames.join(', ')}, or one of them with -vN`,
      got: type.slice(0, 40),
      rule: 'attestation/SPEC.md §5.7',
    });
  }
  const [family, model, stepping] = found;
  return ((family - 15) << 20) | ((model >> 4) << 16) | (15 << 8) | ((model & 15) << 4) | stepping;
}
