/** Images as machines of this host without SEV-SNP: nothing is measured, the host sees all. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  buildGuest,
  inputsCache,
  keepGuests,
  qemuVersion,
  readImage,
  repository,
  type BuiltGuest,
  type GuestMachine,
  type InputSources,
} from '#libs/guest';

interface Around {
  readonly qemu: string;
  /** MiB. */
  readonly memory: number;
  readonly accelerator: 'kvm' | 'tcg';
  /** Folder of socket and console. */
  readonly place: string;
}

/** @param folder  of the image */
export function developmentMachine(
  folder: string,
  image: BuiltGuest,
  { qemu, memory, accelerator, place }: Around,
): GuestMachine {
  return {
    ...{ qemu, kernel: join(folder, image.kernel.file), initrd: join(folder, image.initrd.file) },
    ...{ cmdline: image.cmdline.text, vcpus: 1, memoryMiB: memory },
    ...(image.root && { root: join(folder, image.root.file) }),
    ...{ channel: join(place, 'channel.sock'), console: join(place, 'console.log') },
    platform: { kind: 'dev', accelerator },
  };
}

interface DevelopmentGuests {
  /** `enclave.address` of the host agent's settings. */
  readonly enclaveAddress: string;
  /** The pretend vendor whose hardware these guests show. */
  readonly vendorFile: string;
  /** Process of the guest that runs. */
  pid(): number;
  stop(): Promise<void>;
}

/** An idle guest with a model of the demonstration's size, MiB. */
const memory = 1024;

/**
 * Builds the image of flavour dev and keeps a guest of it: another after each that ends.
 * @param folder  of the image
 * @throws ConfigurationError GUEST_QEMU_ABSENT, GUEST_QEMU_FAILED, GUEST_INPUT_*, GUEST_TOOL, GUEST_NO_SPACE; CollateralError
 *   GUEST_INPUT_UNREACHABLE
 */
export async function startDevelopmentGuests(
  folder: string,
  onLine: (line: string) => void,
  sources: InputSources = { cache: inputsCache },
): Promise<DevelopmentGuests> {
  const qemu = 'qemu-system-x86_64';
  await qemuVersion(qemu);
  await buildGuest('dev', folder, sources);
  const place = mkdtempSync(join(tmpdir(), 'veritrain-guest-'));
  const stopping = new AbortController();
  try {
    // A machine may offer KVM and then not carry it.
    const around: Around = { qemu, memory, accelerator: 'tcg', place };
    const machine = developmentMachine(folder, readImage(folder), around);
    const guests = await keepGuests(machine, onLine, stopping.signal);
    return {
      enclaveAddress: `unix:${machine.channel}`,
      vendorFile: join(repository, 'enclave/guest/test-vendor.json'),
      pid: () => guests.pid(),
      async stop() {
        stopping.abort();
        await guests.done;
        rmSync(place, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(place, { recursive: true, force: true });
    throw error;
  }
}
