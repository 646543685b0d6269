/** Servers that this machine has installed: found, started under an account that may run them, waited for, ended. */
import { spawn } from 'node:child_process';
import { accessSync, chownSync, constants, createWriteStream, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigurationError } from '#attestation/base';
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
  const child = spawn(file, [...args], { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/', ...account });
  const out = createWriteStream(log, { flags: 'a', mode: 0o600 });
  child.stdout.pipe(out, { end: false });
  child.stderr.pipe(out, { end: false });
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.once('error', () => resolve(null));
  });
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  const deadline = performance.now() + readyWithinMs;
  while (!(await answers(port))) {
    if (isRunning() && child.pid !== undefined && performance.now() < deadline) {
      await sleep(20);
      continue;
    }
    await kill();
    throw new ConfigurationError('PROCESS_START', {
      expected: `${name} to listen on port ${port}`,
      got: 'no answer',
      rule: 'distributed profile',
      action: `read ${log}`,
    });
  }
  const stop = async (): Promise<void> => {
    if (!isRunning()) return;
    child.kill(stopSignal);
    const late = new AbortController();
    await Promise.race([exited, sleep(stopWithinMs, null, late).catch(() => null)]);
    late.abort();
    if (isRunning()) await kill();
  };
  return { name, pid: child.pid!, ready: {}, exited, stop, kill };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (result: boolean) => () => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', end(true));
    socket.once('error', end(false));
  });
}
