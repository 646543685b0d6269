/** The two ways to an enclave: a process of this host, which is started here, or a guest, which its service manager starts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CollateralError, ConfigurationError, reportedError, type Report } from '#attestation/base';
import { nodeCommand, poll, startProcess, tailOf } from '#libs/process';
import { createEnclaveClient, type EnclaveClient } from './client.js';

interface RunningEnclave {
  readonly client: EnclaveClient;
  readonly pid: number;
  stop(): void;
}

/** A minute: a machine that is busy loads the engine slowly. */
const connectWithinMs = 60_000;
const connectPauseMs = 25;

/**
 * @param args  arguments of the enclave's own command line (enclave/SPEC.md), for example `--attester simulated`
 * @throws ConfigurationError of the enclave's own, as far as it could say one, else ENCLAVE_START with what it printed
 */
export async function startEnclave(args: readonly string[]): Promise<RunningEnclave> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-enclave-'));
  const path = join(folder, 'channel.sock');
  const command = nodeCommand('../../../enclave/src/main', import.meta.url, ['--listen', `unix:${path}`, ...args]);
  const { child, exited, isRunning, kill } = startProcess(command, { stdio: ['ignore', 'inherit', 'pipe'] });
  const printed = tailOf(
    child.stderr!.on('data', (chunk: Buffer) => process.stderr.write(chunk)),
    2000,
  );
  void exited.then(() => rmSync(folder, { recursive: true, force: true }));
  const limits = { everyMs: connectPauseMs, withinMs: connectWithinMs, goesOn: isRunning };
  const socket = await poll(() => tryConnect({ path }), limits);
  if (socket !== null)
    return { client: createEnclaveClient(socket), pid: child.pid!, stop: () => child.kill('SIGTERM') };
  await kill();
  throw ownFailure(printed()) ?? notStarted(child.exitCode, printed());
}

/**
 * Connects to an enclave that already listens, in a guest of its own: `unix:PATH`, or `tcp:HOST:PORT` on the network
 * between host and guest. The channel needs no secrecy of its own (enclave/SPEC.md, channel).
 *
 * @throws ConfigurationError ENCLAVE_LISTEN for another form of address; CollateralError ENCLAVE_AWAY when nothing
 *   answers there: the guest is down, or serves another connection
 */
export async function connectEnclave(address: string): Promise<EnclaveClient> {
  const socket = await tryConnect(addressOf(address));
  if (socket !== null) return createEnclaveClient(socket);
  throw new CollateralError('ENCLAVE_AWAY', {
    expected: 'an enclave that accepts a connection',
    got: `nobody at ${address}`,
    rule: 'enclave/SPEC.md, start',
    action: 'look at the guest; its service starts the enclave again after each session',
  });
}

function addressOf(address: string): NetConnectOpts {
  const path = /^unix:(.+)$/.exec(address)?.[1];
  if (path !== undefined) return { path };
  const [, host, port] = /^tcp:(.+):(\d{1,5})$/.exec(address) ?? [];
  if (host !== undefined) return { host, port: Number(port) };
  throw new ConfigurationError('ENCLAVE_LISTEN', {
    expected: 'unix:PATH or tcp:HOST:PORT',
    got: address,
    rule: 'enclave/SPEC.md, start',
  });
}

/** The enclave's last words are its failure as one line of JSON. */
function ownFailure(printed: string): Error | undefined {
  const line = printed.trim().split('\n').at(-1) ?? '';
  try {
    const report = JSON.parse(line) as Report;
    return report.code === undefined ? undefined : reportedError({ ...report, family: 'configuration' });
  } catch {
    return undefined;
  }
}

function notStarted(exitCode: number | null, printed: string): ConfigurationError {
  return new ConfigurationError('ENCLAVE_START', {
    expected: 'an enclave that accepts a connection',
    got: printed || `exit code ${exitCode}`,
    rule: 'enclave/SPEC.md, start',
    action: 'read the lines above; check the attester and its files',
  });
}

function tryConnect(to: NetConnectOpts): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(to);
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(null));
  });
}
