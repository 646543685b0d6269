/**
 * QEMU's command line for one guest, as an array that no shell reads. Kernel, initrd and command line are handed over with
 * their hashes, so that all three are in the launch digest; the guest has no network, no disk but one that its command line pins, and no clock device but its own.
 */
import { ConfigurationError } from '#attestation/base';

/** The name of the one port between host and guest; the guest's first process looks for it. */
const channelPort = 'org.veritrain.channel';
/** Bytes of a socket's path: sun_path of Linux has 108 with its NUL. */
const socketPathMost = 107;

export interface GuestMachine {
  /** Program, by name or path. */
  readonly qemu: string;
  readonly kernel: string;
  readonly initrd: string;
  /** The kernel's command line itself, without a newline: QEMU adds the NUL that is hashed. */
  readonly cmdline: string;
  /** Disk that the command line pins, in images that have one; the guest cannot write to it. */
  readonly root?: string;
  readonly vcpus: number;
  readonly memoryMiB: number;
  /** Unix socket that QEMU listens on; one connection is one session. */
  readonly channel: string;
  /** File that takes what the guest prints. */
  readonly console: string;
  readonly platform: SnpPlatform | DevelopmentPlatform;
}

export interface SnpPlatform {
  readonly kind: 'snp';
  /** The firmware that the launch digest begins with. */
  readonly firmware: string;
  /** QEMU's name of the CPU model; its signature is measured. */
  readonly cpu: string;
  /** Guest policy, 0x-hexadecimal. */
  readonly policy: string;
  /** CPUID Fn8000_001F EBX of the host: place of the C-bit, and how many bits of physical addresses it costs. */
  readonly cbitpos: number;
  readonly reducedPhysBits: number;
  /** Base64; the firmware launches only what the block describes. */
  readonly idBlock?: { readonly block: string; readonly auth: string; readonly authored: boolean };
  /** Base64 of 32 bytes that the report repeats. */
  readonly hostData?: string;
  /** PCI addresses of GPUs that are handed over. */
  readonly gpus?: readonly string[];
}

/** No confidential computing: nothing is measured, nothing is encrypted. */
interface DevelopmentPlatform {
  readonly kind: 'dev';
  readonly accelerator: 'tcg' | 'kvm';
}

/** @throws ConfigurationError GUEST_MACHINE */
export function qemuCommand(machine: GuestMachine): readonly [file: string, ...args: string[]] {
  check(machine);
  const { qemu, kernel, initrd, cmdline, root, memoryMiB, vcpus, channel, console, platform } = machine;
  return [
    qemu,
    ...['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none'],
    ...['-m', `${memoryMiB}`, '-smp', `${vcpus}`],
    ...(platform.kind === 'snp' ? snpArguments(platform, memoryMiB) : developmentArguments(platform)),
    ...['-kernel', kernel, '-initrd', initrd, '-append', cmdline],
    ...(root === undefined
      ? []
      : [
          ...['-drive', `if=none,id=root,format=raw,readonly=on,file=${escaped(root)}`],
          ...['-device', 'virtio-blk-pci,drive=root,disable-legacy=on,iommu_platform=on'],
        ]),
    ...['-serial', `file:${console}`],
    ...['-device', 'virtio-serial-pci,disable-legacy=on,iommu_platform=on'],
    ...['-chardev', `socket,id=ch,path=${escaped(channel)},server=on,wait=off`],
    ...['-device', `virtserialport,chardev=ch,name=${channelPort}`],
  ];
}

/** MiB of translated code that an emulator keeps: at its default it drops and translates Node's code again and again. */
const translatedMiB = 512;

function developmentArguments({ accelerator }: DevelopmentPlatform): readonly string[] {
  const accelerated = accelerator === 'tcg' ? `tcg,tb-size=${translatedMiB}` : accelerator;
  return ['-machine', 'q35,vmport=off', '-accel', accelerated, '-cpu', 'max'];
}

function snpArguments(platform: SnpPlatform, memoryMiB: number): readonly string[] {
  const { firmware, cpu, policy, cbitpos, reducedPhysBits, idBlock, hostData, gpus = [] } = platform;
  const guest = [
    ...['sev-snp-guest', 'id=sev0', `policy=${policy}`, `cbitpos=${cbitpos}`],
    ...[`reduced-phys-bits=${reducedPhysBits}`, 'kernel-hashes=on'],
    ...(idBlock?.authored === true ? ['author-key-enabled=on'] : []),
    ...(idBlock === undefined ? [] : [`id-block=${idBlock.block}`, `id-auth=${idBlock.auth}`]),
    ...(hostData === undefined ? [] : [`host-data=${hostData}`]),
  ];
  return [
    ...['-machine', 'q35,accel=kvm,vmport=off,memory-backend=ram0,confidential-guest-support=sev0'],
    ...['-cpu', cpu],
    ...['-object', `memory-backend-memfd,id=ram0,size=${memoryMiB}M,share=true,prealloc=off`],
    ...['-object', guest.join(',')],
    ...['-bios', firmware],
    ...(gpus.length === 0 ? [] : ['-fw_cfg', 'name=opt/ovmf/X-PciMmio64Mb,string=262144']),
    ...gpus.flatMap((address, index) => [
      ...['-device', `pcie-root-port,id=gpu${index},chassis=${index + 1}`],
      ...['-device', `vfio-pci,host=${address},bus=gpu${index}`],
    ]),
  ];
}

function check({ cmdline, root, vcpus, memoryMiB, channel, console, platform }: GuestMachine): void {
  const whole = (value: number, most: number): boolean => Number.isSafeInteger(value) && value >= 1 && value <= most;
  if (!whole(vcpus, 512)) refuse('1 to 512 vCPUs', `${vcpus}`);
  if (!whole(memoryMiB, 2 ** 24)) refuse('memory of 1 to 16777216 MiB', `${memoryMiB}`);
  if (!/^[\x20-\x7e]{1,2047}$/.test(cmdline)) refuse('a command line of 1 to 2047 printable characters', 'another');
  const bytes = Buffer.byteLength(channel);
  if (bytes > socketPathMost) refuse(`a socket path of at most ${socketPathMost} bytes`, `${bytes} bytes`);
  if (/\n/.test(channel + console + (root ?? ''))) refuse('paths on one line', 'a line feed');
  if (platform.kind !== 'snp') return;
  const words = [platform.cpu, platform.policy, ...(platform.gpus ?? [])];
  const base64 = [platform.hostData, platform.idBlock?.block, platform.idBlock?.auth].filter(
    (text) => text !== undefined,
  );
  if (!words.every((word) => /^[\w.:-]{1,64}$/.test(word)) || !base64.every((text) => /^[A-Za-z0-9+/]+=*$/.test(text)))
    refuse('names, numbers and Base64 without a comma', 'another');
  if (!whole(platform.cbitpos, 63) || !whole(platform.reducedPhysBits, 63))
    refuse('cbitpos and reduced-phys-bits of 1 to 63', `${platform.cbitpos} and ${platform.reducedPhysBits}`);
}

/** QEMU's options are parted by commas; one that is meant is written twice. */
function escaped(path: string): string {
  return path.replaceAll(',', ',,');
}

function refuse(expected: string, got: string): never {
  throw new ConfigurationError('GUEST_MACHINE', { expected, got, rule: 'settings of a guest', action: 'correct them' });
}
