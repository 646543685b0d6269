/** Which contracts on which chain a command is about, and for whom it signs. */
import { InvalidArgumentError, type Command } from 'commander';
import { Wallet, type JsonRpcProvider } from 'ethers';
import { to0x } from '#attestation/base';
import { loadProfile } from '#libs/client/api';
import { readJson, readSecret } from '#libs/client/files';
import { connect, parseDeployment, type Deployment } from '#libs/settlement';
import type { OutputOptions } from '../output.js';

export interface TargetOptions extends OutputOptions {
  readonly profile?: string;
  readonly rpc?: string;
  readonly deployment?: string;
}

export interface SigningOptions extends TargetOptions {
  readonly key?: string;
  readonly feePerGasMax?: bigint;
}

interface Cap {
  readonly feePerGasMaxWei: bigint | undefined;
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
  return withFeeCap(withTarget(command)).option(
    '--key <file>',
    'secp256k1 secret that signs; else the profile’s account',
  );
}

export function withFeeCap(command: Command): Command {
  return command.option(
    '--fee-per-gas-max <wei>',
    'most that one unit of gas may cost, a tenth of it as the tip; else as the profile or the kind of chain has it',
    weiOf,
  );
}

export function targetOf(options: TargetOptions): { readonly rpcUrl: string; readonly deployment: Deployment } & Cap {
  if (options.rpc !== undefined && options.deployment !== undefined) {
    const deployment = parseDeployment(readJson(options.deployment));
    return { rpcUrl: options.rpc, deployment, feePerGasMaxWei: undefined };
  }
  const { chain } = loadProfile(options.profile);
  const deployment =
    options.deployment === undefined ? chain.deployment : parseDeployment(readJson(options.deployment));
  return { rpcUrl: options.rpc ?? chain.rpcUrl, deployment, feePerGasMaxWei: chain.feePerGasMaxWei };
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
  work: (signer: Wallet, deployment: Deployment, cap: Cap) => Promise<T>,
): Promise<T> {
  const { rpcUrl, deployment, ...target } = targetOf(options);
  const cap = { feePerGasMaxWei: options.feePerGasMax ?? target.feePerGasMaxWei };
  const file = options.key ?? loadProfile(options.profile).chain.accountKey;
  return withChain(rpcUrl, deployment.chainId, (rpc) => work(new Wallet(to0x(readSecret(file)), rpc), deployment, cap));
}

export function digest(value: string): `0x${string}` {
  if (!/^0x[0-9a-f]{64}$/.test(value)) throw new InvalidArgumentError('a digest: 0x and 64 hexadecimal digits');
  return value as `0x${string}`;
}

export function selector(value: string): string {
  if (!/^0x[0-9a-f]{8}$/.test(value)) throw new InvalidArgumentError('a selector: 0x and 8 hexadecimal digits');
  return value;
}

function weiOf(value: string): bigint {
  if (!/^[1-9][0-9]{0,38}$/.test(value)) throw new InvalidArgumentError('wei, a whole number of at least 1');
  return BigInt(value);
}
