/** `veritrain guest run`: an image in a machine of this host without SEV-SNP, until its enclave answers or it powers off. */
import { accessSync, constants, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError, reportedError, type Report } from '#attestation/base';
import { connectEnclave } from '#libs/enclave-channel';
import { readImage, startGuest } from '#libs/guest';
import { within } from '#libs/process';
import { developmentMachine } from './development-machine.js';

export interface RunRequest {
  readonly folder: string;
  readonly memory: number;
  readonly accelerator?: 'kvm' | 'tcg';
  readonly qemu: string;
}

interface GuestRun {
  readonly ok: boolean;
  readonly flavour: string;
  readonly accelerator: 'kvm' | 'tcg';
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
const nobody = { provider: new Uint8Array(20), chainId: 0, registry: new Uint8Array(20) };

/** @throws ConfigurationError GUEST_IMAGE, GUEST_NO_KVM, GUEST_QEMU_ABSENT, GUEST_QEMU_FAILED */
export async function runImage({ folder, memory, qemu, ...wish }: RunRequest): Promise<GuestRun> {
  const image = readImage(folder);
  const accelerator = wish.accelerator ?? (hasKvm() ? 'kvm' : 'tcg');
  if (accelerator === 'kvm' && !hasKvm()) throw noKvm();
  const place = mkdtempSync(join(tmpdir(), 'veritrain-guest-'));
  const [channel, console] = [join(place, 'channel.sock'), join(place, 'console.log')];
  try {
    const begun = performance.now();
    const guest = await startGuest(developmentMachine(folder, image, { qemu, memory, accelerator, place }));
    try {
      const enclave = await connectEnclave(`unix:${channel}`);
      const answer = await within(
        wholeMs,
        enclave.request('open', nobody).catch(() => null),
      );
      const openSeconds = (performance.now() - begun) / 1000;
      enclave.close();
      const ended = await within(endMs, guest.exited);
      const lines = readFileSync(console, 'latin1').split(/\r?\n/).filter(Boolean);
      return {
        ...{ ok: Boolean(answer) && ended?.status === 0, flavour: image.flavour, accelerator },
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

function hasKvm(): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
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
