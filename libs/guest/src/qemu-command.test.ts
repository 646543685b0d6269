/** The whole command line, word for word: what stands here is what an operator's machine runs. */
import { describe, expect, it } from 'vitest';
import { qemuCommand, type GuestMachine, type SnpPlatform } from './index.js';

const snp: SnpPlatform = {
  kind: 'snp',
  firmware: '/srv/guest/OVMF.amdsev.fd',
  cpu: 'EPYC-Milan-v2',
  policy: '0x130000',
  cbitpos: 51,
  reducedPhysBits: 1,
  idBlock: { block: 'QkxPQ0s=', auth: 'QVVUSA==', authored: true },
};
const machine: GuestMachine = {
  qemu: 'qemu-system-x86_64',
  kernel: '/srv/guest/vmlinuz',
  initrd: '/srv/guest/initrd.img',
  cmdline: 'console=ttyS0 quiet panic=-1 rdinit=/init',
  vcpus: 4,
  memoryMiB: 4096,
  channel: '/run/veritrain/0/channel.sock',
  console: '/run/veritrain/0/console.log',
  platform: snp,
};

const device = [
  ...['-serial', 'file:/run/veritrain/0/console.log'],
  ...['-device', 'virtio-serial-pci,disable-legacy=on,iommu_platform=on'],
  ...['-chardev', 'socket,id=ch,path=/run/veritrain/0/channel.sock,server=on,wait=off'],
  ...['-device', 'virtserialport,chardev=ch,name=org.veritrain.channel'],
];
const files = [
  ...['-kernel', '/srv/guest/vmlinuz', '-initrd', '/srv/guest/initrd.img'],
  ...['-append', 'console=ttyS0 quiet panic=-1 rdinit=/init'],
];

describe('the command line', () => {
  it('of a guest with SEV-SNP', () => {
    expect(qemuCommand(machine)).toEqual([
      ...['qemu-system-x86_64', '-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none'],
      ...['-m', '4096', '-smp', '4'],
      ...['-machine', 'q35,accel=kvm,vmport=off,memory-backend=ram0,confidential-guest-support=sev0'],
      ...['-cpu', 'EPYC-Milan-v2'],
      ...['-object', 'memory-backend-memfd,id=ram0,size=4096M,share=true,prealloc=off'],
      '-object',
      'sev-snp-guest,id=sev0,policy=0x130000,cbitpos=51,reduced-phys-bits=1,kernel-hashes=on,author-key-enabled=on,id-block=QkxPQ0s=,id-auth=QVVUSA==',
      ...['-bios', '/srv/guest/OVMF.amdsev.fd'],
      ...files,
      ...device,
    ]);
  });

  it('of a guest for development, without confidential computing', () => {
    const dev: GuestMachine = { ...machine, vcpus: 1, memoryMiB: 1024, platform: { kind: 'dev', accelerator: 'tcg' } };
    expect(qemuCommand(dev)).toEqual([
      ...['qemu-system-x86_64', '-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none'],
      ...['-m', '1024', '-smp', '1', '-machine', 'q35,vmport=off', '-accel', 'tcg,tb-size=512', '-cpu', 'max'],
      ...files,
      ...device,
    ]);
  });

  it('hands GPUs over behind a root port each, with room for their memory', () => {
    const { idBlock: _, ...bare } = snp;
    const words = qemuCommand({
      ...machine,
      platform: { ...bare, gpus: ['0000:41:00.0', '0000:61:00.0'], hostData: 'AA==' },
    });
    expect(words.filter((word) => /vfio|root-port|fw_cfg|Mmio|snp-guest/.test(word))).toEqual([
      'sev-snp-guest,id=sev0,policy=0x130000,cbitpos=51,reduced-phys-bits=1,kernel-hashes=on,host-data=AA==',
      '-fw_cfg',
      'name=opt/ovmf/X-PciMmio64Mb,string=262144',
      'pcie-root-port,id=gpu0,chassis=1',
      'vfio-pci,host=0000:41:00.0,bus=gpu0',
      'pcie-root-port,id=gpu1,chassis=2',
      'vfio-pci,host=0000:61:00.0,bus=gpu1',
    ]);
  });

  it('keeps a comma of a path inside its option', () => {
    expect(qemuCommand({ ...machine, channel: '/run/a,server=off/c.sock' }).find((word) => /^socket,/.test(word))).toBe(
      'socket,id=ch,path=/run/a,,server=off/c.sock,server=on,wait=off',
    );
  });

  it.each<[string, Partial<GuestMachine>]>([
    ['no vCPU', { vcpus: 0 }],
    ['memory of a fraction', { memoryMiB: 0.5 }],
    ['a command line of two lines', { cmdline: 'a\nb' }],
    ['a socket path that the kernel does not take', { channel: `/${'x'.repeat(107)}` }],
    ['a CPU model that carries an option', { platform: { ...snp, cpu: 'EPYC,+x' } }],
    ['a policy that carries an option', { platform: { ...snp, policy: '0x3,kernel-hashes=off' } }],
    ['a GPU that carries an option', { platform: { ...snp, gpus: ['0,bus=x'] } }],
    ['host data that are not Base64', { platform: { ...snp, hostData: 'a,b' } }],
    ['no C-bit', { platform: { ...snp, cbitpos: 0 } }],
  ])('GUEST_MACHINE: %s is refused', (_, change) => {
    expect(() => qemuCommand({ ...machine, ...change })).toThrow('GUEST_MACHINE');
  });
});
