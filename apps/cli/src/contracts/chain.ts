/** The contracts that a command is about, on their chain, and who signs. */
import { Wallet, type JsonRpcProvider } from 'ethers';
import { to0x } from '#attestation/base';
import { loadProfile } from '#libs/client/api';
import { readJson, readSecret } from '#libs/client/files';
import { connect, parseDeployment, type Deployment } from '#libs/settlement';
import type { SigningOptions, TargetOptions } from '../commands/contracts-target.js';

interface Cap {
  readonly feePerGasMaxWei: bigint | undefined;
}

const pollingMs = 500;

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
