/** A local chain for the demonstration and the tests: the anvil binary from npm, started without its wrapper. */
import { createRequire } from 'node:module';
import { ConfigurationError } from '#attestation/base';
import { freePort, poll, startProcess, tailOf, type StartedProcess } from '#libs/process';

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
const stopWithinMs = 3000;

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
  const started = startProcess([anvilBinary(), ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(started, url);
  return { url, port, chainId, pid: started.child.pid!, stop: () => started.stop(stopWithinMs) };
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

async function untilReady({ child, isRunning, stop }: StartedProcess, url: string): Promise<void> {
  const complaint = tailOf(child.stderr!, 2000);
  let failed: Error | undefined;
  child.once('error', (error) => (failed = error));
  const look = async (): Promise<true | null> => (await answers(url)) || null;
  if ((await poll(look, { everyMs: 20, withinMs: readyWithinMs, goesOn: isRunning })) !== null) return;
  await stop(stopWithinMs);
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
