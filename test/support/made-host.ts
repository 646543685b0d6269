/** /proc, /sys and /dev of a machine that is made up, below a folder. */
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * A Milan machine in order.
 * @param change  files with other content; null: not there
 * @returns the folder
 */
export function writeMadeHost(root: string, change: Readonly<Record<string, string | null>> = {}): string {
  rmSync(root, { recursive: true, force: true });
  const files: Readonly<Record<string, string | null>> = {
    'proc/cpuinfo':
      'vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7763 (made up)\n',
    'proc/meminfo': 'MemTotal: 1 kB\nMemAvailable:   33554432 kB\n',
    'proc/sys/kernel/osrelease': '6.12.1-test\n',
    'sys/module/kvm_amd/parameters/sev_snp': 'Y\n',
    'sys/module/kvm_amd/parameters/debug_swap': 'N\n',
    'sys/class/iommu/ivhd0': '',
    'dev/kvm': '',
    'dev/sev': '',
    'dev/cpu/0/cpuid': '',
    ...change,
  };
  for (const [name, content] of Object.entries(files)) {
    if (content === null) continue;
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  // CPUID Fn8000_001F at its place in a file with holes: EBX says bit 51, one bit of addresses.
  const registers = Buffer.alloc(16);
  registers.writeUInt32LE(51 | (1 << 6), 4);
  const file = openSync(join(root, 'dev/cpu/0/cpuid'), 'r+');
  writeSync(file, registers, 0, 16, 0x8000001f);
  closeSync(file);
  return root;
}
