/** Servers that this machine has installed: found, started under an account that may run them, waited for, ended. */
import { accessSync, chownSync, constants, createWriteStream, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { isListening, poll, startProcess } from '#libs/process';
import type { RunningProcess } from './process.js';

/** Where Debian, Fedora, Homebrew and others put what is not in the path. */
const usualPlaces = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin', '/usr/local/pgsql/bin'];
const readyWithinMs = 30_000;
const stopWithinMs = 10_000;

/** @throws ConfigurationError SERVER_MISSING naming the package to install */
export function findServer(binary: string, install: string): string {
  const places = [...(process.env.PATH ?? '').split(delimiter), ...usualPlaces, ...debianPostgres()];
  const found = places.map((place) => join(place, binary)).find(isExecutable);
  if (found !== undefined) return found;
  throw new ConfigurationError('SERVER_MISSING', {
    expected: `${binary} in the path or where packages put it`,
    got: 'none',
    rule: 'distributed profile',
    action: `install it: ${install}`,
  });
}

function debianPostgres(): string[] {
  const base = '/usr/lib/postgresql';
  try {
    const versions = readdirSync(base).sort((a, b) => Number(b) - Number(a));
    return versions.map((version) => join(base, version, 'bin'));
  } catch {
    return [];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root: an account without rights that root may start it under; else nothing. */
export function unprivileged(): Account | null {
  if (process.getuid?.() !== 0) return null;
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  const entry = lines.find((line) => line.startsWith('postgres:')) ?? lines.find((line) => line.startsWith('nobody:'));
  const [, , uid, gid] = entry?.split(':') ?? [];
  return uid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}

export function giveTo(account: Account | null, folder: string): void {
  if (account !== null) chownSync(folder, account.uid, account.gid);
}

interface ServerCommand {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly port: number;
  readonly log: string;
  readonly account?: Account | null;
  readonly stopSignal?: NodeJS.Signals;
}

/** Starts a server and waits until its port takes connections. @throws ConfigurationError PROCESS_START */
export async function startServer(command: ServerCommand): Promise<RunningProcess> {
  const { name, file, args, port, log, account = null, stopSignal = 'SIGTERM' } = command;
  const started = startProcess([file, ...args], { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/', ...account });
  const { child, exited, isRunning, kill } = started;
  const out = createWriteStream(log, { flags: 'a', mode: 0o600 });
  child.stdout!.pipe(out, { end: false });
  child.stderr!.pipe(out, { end: false });
  const look = async (): Promise<true | null> => (await isListening(port)) || null;
  if ((await poll(look, { everyMs: 20, withinMs: readyWithinMs, goesOn: isRunning })) === null) {
    await kill();
    throw new ConfigurationError('PROCESS_START', {
      expected: `${name} to listen on port ${port}`,
      got: 'no answer',
      rule: 'distributed profile',
      action: `read ${log}`,
    });
  }
  return { name, pid: child.pid!, ready: {}, exited, stop: () => started.stop(stopWithinMs, stopSignal), kill };
}
