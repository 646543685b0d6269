/** QEMU as a process: its version, its start until the channel is there, its end. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { poll, startProcess, tailOf, within } from '#libs/process';
import { qemuCommand, type GuestMachine } from './qemu-command.js';

interface QemuVersion {
  readonly major: number;
  readonly minor: number;
  /** Its first line. */
  readonly text: string;
}

interface RunningGuest {
  readonly pid: number;
  /** What QEMU was started with. */
  readonly command: readonly string[];
  /** QEMU's status, null after a signal, and its last words. A guest that powers off ends it with 0. */
  readonly exited: Promise<{ readonly status: number | null; readonly said: string }>;
  isRunning(): boolean;
  /** The error of KVM on which the machine stands still, where it does: QEMU goes on and the guest does not. */
  stalled(): string | null;
  /** Ends the machine, and with it whatever was in its memory. */
  stop(graceMs?: number): Promise<void>;
}

const wordsMax = 4000;
const kvmError = /^.*(KVM internal error|KVM: entry failed|kvm run failed).*$/m;
const versionWithinMs = 60_000;
/** Until the socket is there. */
const channelWithinMs = 30_000;
/** The socket is there before QEMU reads its files: so long it may still fail. */
const settledAfterMs = 500;
const graceMsUsual = 5000;

/** @throws ConfigurationError GUEST_QEMU_ABSENT */
export async function qemuVersion(qemu: string): Promise<QemuVersion> {
  const { child, exited, kill } = startProcess([qemu, '--version'], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.on('error', () => undefined);
  const printed = tailOf(child.stdout!, wordsMax);
  const closed = Promise.all([exited, child.pid === undefined ? null : ended(child.stdout!)]);
  if ((await within(versionWithinMs, closed)) === undefined) await kill();
  const text = printed().split('\n')[0]!.trim();
  const [, major, minor] = /version (\d{1,3})\.(\d{1,3})/.exec(text) ?? [];
  if (major === undefined || minor === undefined) throw absent(qemu, text);
  return { major: Number(major), minor: Number(minor), text };
}

function ended(stream: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve) => stream.once('close', resolve));
}

/**
 * Starts a guest and waits until its channel takes a connection; what is sent before the guest has booted waits in QEMU.
 * @param endsWithUs  killed when this process exits
 * @throws ConfigurationError GUEST_MACHINE, GUEST_QEMU_ABSENT, GUEST_QEMU_FAILED with QEMU's own words
 */
export async function startGuest(machine: GuestMachine, { endsWithUs = true } = {}): Promise<RunningGuest> {
  const command = qemuCommand(machine);
  mkdirSync(dirname(machine.channel), { recursive: true, mode: 0o700 });
  rmSync(machine.channel, { force: true });
  const started = startProcess(command, { stdio: ['ignore', 'ignore', 'pipe'], endsWithUs });
  const { child, isRunning, stop } = started;
  const said = tailOf(child.stderr!, wordsMax);
  if (child.pid === undefined) {
    await started.exited;
    throw absent(machine.qemu, 'no such program');
  }
  const exited = Promise.all([started.exited, ended(child.stderr!)]).then(([status]) => ({
    status,
    said: said().trim(),
  }));
  const look = (): Promise<true | null> => Promise.resolve(existsSync(machine.channel) ? true : null);
  const listens = await poll(look, { everyMs: 20, withinMs: channelWithinMs, goesOn: isRunning });
  if (listens !== null) await within(settledAfterMs, started.exited);
  // One that is over before it was looked at, and ended well, has had its session.
  if (isRunning() ? listens === null : child.exitCode !== 0) {
    await stop(graceMsUsual);
    throw failed(command[0], await exited);
  }
  const stalled = (): string | null => kvmError.exec(said())?.[0].trim() ?? null;
  return { pid: child.pid, command, exited, isRunning, stalled, stop: (graceMs = graceMsUsual) => stop(graceMs) };
}

function absent(qemu: string, got: string): ConfigurationError {
  return new ConfigurationError('GUEST_QEMU_ABSENT', {
    expected: `QEMU as ${qemu}`,
    got: got === '' ? 'no such program' : got,
    rule: 'settings of a guest',
    action: 'apt install qemu-system-x86 (10.0 or later for SEV-SNP: Debian 13, or -t bookworm-backports), or name it',
  });
}

/** QEMU's words that an operator can act on, with what to do. */
const causes: readonly (readonly [RegExp, string])[] = [
  [
    /not supported by KVM|does not support (SEV-)?SNP/i,
    'switch SEV-SNP on: veritrain host preflight says what is missing',
  ],
  [/\/dev\/kvm|access KVM/i, 'load kvm_amd, and run as a member of group kvm'],
  [/\/dev\/sev/i, 'run as a user who may open /dev/sev, and look at dmesg for ccp'],
  [/unable to find CPU model/i, 'name a model that this QEMU knows: qemu-system-x86_64 -cpu help'],
  [/invalid object type|sev-snp-guest/i, 'install QEMU 10.0 or later'],
  [/cannot set up guest memory|cannot allocate memory/i, 'give the guest less memory, or free some'],
  [/LAUNCH_FINISH|BAD_MEASUREMENT/i, 'the ID block describes another launch: take block and shape from one manifest'],
];

function failed(qemu: string, { status, said }: { status: number | null; said: string }): ConfigurationError {
  const action =
    causes.find(([words]) => words.test(said))?.[1] ?? 'read QEMU’s words; veritrain host preflight looks for causes';
  return new ConfigurationError('GUEST_QEMU_FAILED', {
    expected: `a running machine of ${qemu}`,
    got: said === '' ? `status ${status} without a word` : said.slice(-500),
    rule: 'settings of a guest',
    action,
  });
}
