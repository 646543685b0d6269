/** `veritrain guest run`: an image in a machine of this host without SEV-SNP, until its enclave answers or it powers off. */
import { accessSync, constants, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError, ConfigurationError, reportedError, type Report } from '#attestation/base';
import { connectEnclave } from '#libs/enclave-channel';
import { readImage, startGuest } from '#libs/guest';
import { within } from '#libs/process';
import { developmentMachine } from './development-machine.js';

export interface RunRequest {
  readonly folder: string;
  readonly memory: number;
  /** Absent: KVM where it is there and starts a guest. */
  readonly accelerator?: 'kvm' | 'tcg';
  readonly qemu: string;
  /** Device of KVM; another one in tests. */
  readonly kvm?: string;
}

interface GuestRun {
  readonly ok: boolean;
  readonly flavour: string;
  readonly accelerator: 'kvm' | 'tcg';
  /** Why KVM, which is there, was not used; null where it was, or was not there. */
  readonly withoutKvm: string | null;
  /** Seconds from the start of QEMU until the enclave answered `open`; null where it never did. */
  readonly openSeconds: number | null;
  /** Bytes of the answer: the session's keys. */
  readonly answerBytes: number | null;
  /** What the program or the first process said of its end, where it did. */
  readonly refusal: Report | null;
  /** Of QEMU: 0 where the guest powered off by itself. */
  readonly status: number | null;
  readonly console: readonly string[];
}

const wholeMs = 300_000;
const endMs = 15_000;
const lookMs = 200;
const nobody = { provider: new Uint8Array(20), chainId: 0, registry: new Uint8Array(20) };

/** @throws ConfigurationError GUEST_IMAGE, GUEST_NO_KVM, GUEST_QEMU_ABSENT, GUEST_QEMU_FAILED */
export async function runImage(request: RunRequest): Promise<GuestRun> {
  const { accelerator, kvm = '/dev/kvm' } = request;
  if (accelerator === 'kvm' && !opens(kvm)) throw noKvm();
  if (accelerator !== undefined || !opens(kvm)) return boot(request, accelerator ?? 'tcg', null);
  try {
    return await boot(request, 'kvm', null);
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'GUEST_QEMU_FAILED') throw error;
    return boot(request, 'tcg', error.detail.got);
  }
}

async function boot(
  { folder, memory, qemu }: RunRequest,
  accelerator: 'kvm' | 'tcg',
  withoutKvm: string | null,
): Promise<GuestRun> {
  const image = readImage(folder);
  const place = mkdtempSync(join(tmpdir(), 'veritrain-guest-'));
  const [channel, console] = [join(place, 'channel.sock'), join(place, 'console.log')];
  try {
    const begun = performance.now();
    const guest = await startGuest(developmentMachine(folder, image, { qemu, memory, accelerator, place }));
    try {
      const enclave = await connectEnclave(`unix:${channel}`);
      const asked = enclave.request('open', nobody).catch(() => null);
      const stall = new AbortController();
      const answer = await Promise.race([within(wholeMs, asked), stalledWith(guest, stall.signal)]);
      stall.abort();
      const openSeconds = (performance.now() - begun) / 1000;
      enclave.close();
      const ended = await within(endMs, guest.exited);
      const lines = readFileSync(console, 'latin1').split(/\r?\n/).filter(Boolean);
      return {
        ...{ ok: Boolean(answer) && ended?.status === 0, flavour: image.flavour, accelerator, withoutKvm },
        openSeconds: answer ? Math.round(openSeconds * 10) / 10 : null,
        answerBytes: answer?.length ?? null,
        refusal: lines.map(reportOf).find((report) => report !== null) ?? null,
        ...{ status: ended?.status ?? null, console: lines },
      };
    } finally {
      await guest.stop();
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** @throws ConfigurationError GUEST_QEMU_FAILED once KVM has stopped the machine, until the signal comes */
async function stalledWith(guest: Awaited<ReturnType<typeof startGuest>>, stop: AbortSignal): Promise<null> {
  while (!stop.aborted) {
    const got = guest.stalled();
    if (got !== null)
      throw new ConfigurationError('GUEST_QEMU_FAILED', {
        ...{ expected: 'a machine that KVM carries', got, rule: 'settings of a guest' },
        action: 'run on a processor whose virtualization this system may use, or with --accelerator tcg',
      });
    await sleep(lookMs, undefined, { signal: stop }).catch(() => undefined);
  }
  return null;
}

/** A failure as the enclave prints it; lines of the first process and of the kernel are none. */
function reportOf(line: string): Report | null {
  try {
    const report = JSON.parse(line) as Report | null;
    if (report === null || typeof report.code !== 'string') return null;
    return reportedError(report).toJSON();
  } catch {
    return null;
  }
}

function opens(device: string): boolean {
  try {
    accessSync(device, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function noKvm(): ConfigurationError {
  return new ConfigurationError('GUEST_NO_KVM', {
    expected: '/dev/kvm, readable and writable',
    got: 'none',
    rule: 'arguments of this command',
    action: 'run as a member of group kvm, or with --accelerator tcg, which emulates the processor',
  });
}
