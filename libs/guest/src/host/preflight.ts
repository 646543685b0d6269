/** Whether a host can start guests, one line for each thing it takes: what was found, and what to do. Pure. */
import type { HostFacts } from './host-facts.js';

export interface HostCheck {
  readonly name: string;
  /** `skipped`: the profile does not need it. */
  readonly state: 'ok' | 'missing' | 'warning' | 'skipped';
  readonly found: string;
  readonly expected: string;
  /** Empty where nothing is to be done. */
  readonly action: string;
}

interface HostNeeds {
  readonly profile: 'snp' | 'dev';
  readonly memoryMiB: number;
  readonly diskMiB: number;
}

interface Rule {
  readonly name: string;
  readonly expected: string;
  readonly action: string;
  readonly found: string;
  readonly isMet: boolean;
  /** Of the profile `snp` alone. */
  readonly isOfSnp: boolean;
  readonly isWarning?: boolean;
}

export function checkHost(facts: HostFacts, needs: HostNeeds): readonly HostCheck[] {
  return rulesOf(facts, needs).map(({ name, expected, action, found, isMet, isOfSnp, isWarning = false }) => {
    const missed = isWarning ? 'warning' : 'missing';
    const state = isOfSnp && needs.profile === 'dev' ? 'skipped' : isMet ? 'ok' : missed;
    return { name, state, found, expected, action: state === 'missing' || state === 'warning' ? action : '' };
  });
}

function atLeast(version: HostFacts['kernel'], major: number, minor: number): boolean {
  return version !== null && (version.major > major || (version.major === major && version.minor >= minor));
}

function rulesOf(facts: HostFacts, needs: HostNeeds): readonly Rule[] {
  const { kernel, qemu } = facts;
  const device = (name: string, access: HostFacts['kvm'], action: string): Rule => ({
    name: `/dev/${name}`,
    expected: 'a device that this user may open',
    found: access,
    isMet: access === 'open',
    isOfSnp: true,
    action,
  });
  const isOn = (value: string | null): boolean => value === 'Y' || value === '1';
  const qemuLeast = needs.profile === 'snp' ? 10 : 7;
  return [
    {
      ...{ name: 'processor', expected: 'EPYC 7003 (Milan), 9004 (Genoa) or 9005 (Turin)', isOfSnp: true },
      ...{ found: facts.cpuModel || 'unknown', isMet: facts.product !== null },
      action: 'SEV-SNP needs one of these; --profile dev runs without it, for development alone',
    },
    {
      ...{ name: 'kernel', expected: 'Linux 6.11 or later', isOfSnp: true },
      ...{ found: kernel?.text ?? 'unknown', isMet: atLeast(kernel, 6, 11) },
      action: 'boot a kernel whose KVM starts SEV-SNP guests: Debian 13, or 6.11 from backports',
    },
    {
      ...{ name: 'kvm_amd sev_snp', expected: 'Y', isOfSnp: true, isMet: isOn(facts.sevSnp) },
      found: facts.sevSnp ?? 'not loaded',
      action:
        'switch on SMEE, SEV-SNP and the RMP table in the BIOS, then: modprobe kvm_amd sev=1 sev_es=1 sev_snp=1; read dmesg',
    },
    {
      ...{ name: 'kvm_amd debug_swap', expected: 'N: the usual measurements are of SEV_FEATURES 0x1', isOfSnp: true },
      ...{ found: facts.debugSwap ?? 'absent', isMet: !isOn(facts.debugSwap), isWarning: true },
      action: 'load kvm_amd with debug_swap=0, or guests are measured with SEV_FEATURES 0x21',
    },
    device('kvm', facts.kvm, 'load kvm_amd, and add this user to group kvm'),
    device('sev', facts.sev, 'load ccp, look at dmesg for the firmware’s state, and let group kvm open it (udev rule)'),
    {
      ...{ name: 'IOMMU', expected: 'on', isOfSnp: true, found: `${facts.iommus} units`, isMet: facts.iommus > 0 },
      action: 'switch the IOMMU on in the BIOS; SEV-SNP does not start without',
    },
    {
      ...{ name: 'C-bit', expected: 'CPUID Fn8000_001F, readable', isOfSnp: true },
      found:
        facts.encryption === null
          ? 'unreadable'
          : `bit ${facts.encryption.cbitpos}, costs ${facts.encryption.reducedPhysBits}`,
      isMet: facts.encryption !== null && facts.encryption.cbitpos > 0,
      action: 'modprobe cpuid, and run as root; or give host init --cbitpos and --reduced-phys-bits',
    },
    {
      ...{ name: 'QEMU', expected: `${qemuLeast}.0 or later`, isOfSnp: false },
      ...{ found: qemu?.text ?? 'not installed', isMet: atLeast(qemu, qemuLeast, 0) },
      action: 'apt install qemu-system-x86 of Debian 13, or of bookworm-backports',
    },
    {
      ...{ name: 'memory', expected: `${needs.memoryMiB} MiB available`, isOfSnp: false },
      ...{ found: `${facts.memoryAvailableMiB} MiB`, isMet: facts.memoryAvailableMiB >= needs.memoryMiB },
      action: 'give the guest less (--memory), or free some: a guest with SEV-SNP is never swapped',
    },
    {
      ...{ name: 'disk', expected: `${needs.diskMiB} MiB free`, isOfSnp: false },
      ...{ found: `${facts.diskFreeMiB} MiB`, isMet: facts.diskFreeMiB >= needs.diskMiB },
      action: 'free space where the settings lie: images, ciphertexts and what is owed are kept there',
    },
  ];
}
