/** A local chain for the demonstration and the tests: the anvil binary from npm, started without its wrapper. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigurationError } from '#attestation/base';

/** Public mnemonic whose accounts anvil funds; worth nothing on any other chain. */
export const testMnemonic = 'test test test test test test test test test test test junk';

interface AnvilOptions {
  /** 0 or absent: a free port. */
  readonly port?: number;
  readonly chainId?: number;
  /** Seconds between blocks; absent: one block per transaction. */
  readonly blockSeconds?: number;
  /** A block every second besides one per transaction: windows then end by themselves. */
  readonly ticks?: boolean;
  readonly hardfork?: string;
  /** Unix seconds of the genesis block; absent: now. */
  readonly genesisTime?: number;
}

export interface Anvil {
  readonly url: string;
  readonly port: number;
  readonly chainId: number;
  readonly pid: number;
  stop(): Promise<void>;
}

const readyWithinMs = 20_000;

/**
 * Starts anvil on the loopback interface and waits until it answers.
 * @throws ConfigurationError ANVIL_MISSING when this platform's package is not installed, ANVIL_START when it exits
 *         before it answers
 */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const port = options.port || (await freePort());
  const chainId = options.chainId ?? 31337;
  const args = ['--host', '127.0.0.1', '--port', `${port}`, '--chain-id', `${chainId}`, '--mnemonic', testMnemonic];
  args.push('--hardfork', options.hardfork ?? 'osaka', '--enable-tx-gas-limit', '--quiet');
  if (options.blockSeconds !== undefined) args.push('--block-time', `${options.blockSeconds}`);
  if (options.ticks === true) args.push('--block-time', '1', '--mixed-mining');
  if (options.genesisTime !== undefined) args.push('--timestamp', `${options.genesisTime}`);
  const child = spawn(anvilBinary(), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(-2000)));
  const url = `http://127.0.0.1:${port}`;
  await untilReady(child, url, () => complaint);
  return { url, port, chainId, pid: child.pid!, stop: () => stop(child) };
}

/** @throws ConfigurationError ANVIL_MISSING */
function anvilBinary(): string {
  const platform = process.platform === 'win32' ? 'win32' : process.platform;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = platform === 'win32' ? 'anvil.exe' : 'anvil';
  const path = `@foundry-rs/anvil-${platform}-${arch}/bin/${name}`;
  try {
    return createRequire(import.meta.url).resolve(path);
  } catch {
    throw new ConfigurationError('ANVIL_MISSING', {
      expected: `the anvil binary for ${platform} ${arch}`,
      got: `no ${path}`,
      rule: 'contracts/SPEC.md §15',
      action: 'run npm ci, or give the URL of another Ethereum node',
    });
  }
}

async function untilReady(child: ChildProcess, url: string, complaint: () => string): Promise<void> {
  const deadline = performance.now() + readyWithinMs;
  let failed: Error | undefined;
  child.once('error', (error) => (failed = error));
  while (performance.now() < deadline && failed === undefined && child.exitCode === null) {
    if (await answers(url)) return;
    await sleep(20);
  }
  await stop(child);
  throw new ConfigurationError('ANVIL_START', {
    expected: `an answer from ${url} within ${readyWithinMs / 1000} s`,
    got: failed?.message ?? (complaint().trim() || 'no answer'),
    rule: 'contracts/SPEC.md §15',
    action: 'look for another process on this port',
  });
}

async function answers(url: string): Promise<boolean> {
  try {
    const reply = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
    });
    return reply.ok;
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await Promise.race([gone, sleep(3000)]);
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await gone;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new TypeError('no TCP port');
  return address.port;
}
