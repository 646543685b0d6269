/** Which contracts on which chain a command is about, and for whom it signs. */
import { InvalidArgumentError, type Command } from 'commander';
import { Wallet, type JsonRpcProvider } from 'ethers';
import { to0x } from '#attestation/base';
import { loadProfile, readJson, readSecret } from '#libs/client';
import { connect, parseDeployment, type Deployment } from '#libs/settlement';
import type { OutputOptions } from '../output.js';

export interface TargetOptions extends OutputOptions {
  readonly profile?: string;
  readonly rpc?: string;
  readonly deployment?: string;
}

export interface SigningOptions extends TargetOptions {
  readonly key?: string;
}

const pollingMs = 500;

export function withTarget(command: Command): Command {
  return command
    .option('--profile <file>', 'client profile; else VERITRAIN_PROFILE or the one of `veritrain up`')
    .option('--rpc <url>', 'JSON-RPC endpoint instead of the profile’s')
    .option('--deployment <file>', 'deployment file instead of the profile’s')
    .option('--json', 'print one JSON document');
}

export function withSigner(command: Command): Command {
  return withTarget(command).option('--key <file>', 'secp256k1 secret that signs; else the profile’s account');
}

export function targetOf(options: TargetOptions): { readonly rpcUrl: string; readonly deployment: Deployment } {
  if (options.rpc !== undefined && options.deployment !== undefined) {
    return { rpcUrl: options.rpc, deployment: parseDeployment(readJson(options.deployment)) };
  }
  const { chain } = loadProfile(options.profile);
  const deployment =
    options.deployment === undefined ? chain.deployment : parseDeployment(readJson(options.deployment));
  return { rpcUrl: options.rpc ?? chain.rpcUrl, deployment };
}

export async function withChain<T>(
  url: string,
  chainId: number,
  work: (rpc: JsonRpcProvider) => Promise<T>,
): Promise<T> {
  const rpc = connect(url, chainId, pollingMs);
  try {
    return await work(rpc);
  } finally {
    rpc.destroy();
  }
}

export function signing<T>(
  options: SigningOptions,
  work: (signer: Wallet, deployment: Deployment) => Promise<T>,
): Promise<T> {
  const { rpcUrl, deployment } = targetOf(options);
  const file = options.key ?? loadProfile(options.profile).chain.accountKey;
  return withChain(rpcUrl, deployment.chainId, (rpc) => work(new Wallet(to0x(readSecret(file)), rpc), deployment));
}

export function address(value: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(value)) throw new InvalidArgumentError('an address: 0x and 40 hexadecimal digits');
  return value;
}

export function digest(value: string): `0x${string}` {
  if (!/^0x[0-9a-f]{64}$/.test(value)) throw new InvalidArgumentError('a digest: 0x and 64 hexadecimal digits');
  return value as `0x${string}`;
}

export function selector(value: string): string {
  if (!/^0x[0-9a-f]{8}$/.test(value)) throw new InvalidArgumentError('a selector: 0x and 8 hexadecimal digits');
  return value;
}
