/** Who governs a set of contracts, which verifiers it listens to, and what it holds. */
import { Contract, type Provider } from 'ethers';
import { artefacts, errorAbi, routerAt, settlementAt } from './contracts.js';
import { selectorsOf } from './deploy.js';
import type { Deployment } from './deployment.js';
import { extensionSelectors } from './extensions.js';
import { chainFailure } from './failure.js';

export interface DeploymentStatus {
  readonly block: number;
  readonly governor: string;
  /** Of the escrow: may refuse new jobs. */
  readonly guardian: string;
  readonly treasury: string;
  readonly paused: boolean;
  readonly attestors: number;
  /** Attestors that register an enclave key together. */
  readonly threshold: number;
  readonly verifiers: readonly { readonly selector: string; readonly address: string; readonly live: boolean }[];
  readonly heldWei: bigint;
}

/** @throws CollateralError CHAIN_UNREACHABLE; Rejection CHAIN_REVERT where there are no such contracts */
export async function deploymentStatus(deployment: Deployment, provider: Provider): Promise<DeploymentStatus> {
  try {
    return await read(deployment, provider);
  } catch (error) {
    throw chainFailure(error, 'status', errorAbi);
  }
}

async function read(deployment: Deployment, provider: Provider): Promise<DeploymentStatus> {
  const escrow = settlementAt(deployment.settlement, provider);
  const router = routerAt(deployment.router, provider);
  const registry = new Contract(deployment.registry, artefacts.registry.abi, provider);
  const verifiers: { selector: string; address: string; live: boolean }[] = [];
  const extensions = await extensionSelectors(deployment.extensions, provider);
  const routed: Record<string, string> = { ...selectorsOf(deployment), ...extensions };
  for (const [selector, address] of Object.entries(routed)) {
    verifiers.push({ selector, address, live: await router.isLive(selector) });
  }
  return {
    block: await provider.getBlockNumber(),
    governor: await escrow.governor(),
    guardian: await escrow.guardian(),
    treasury: await escrow.treasury(),
    paused: await escrow.paused(),
    attestors: Number(await registry.getFunction('attestorCount')()),
    threshold: Number(await registry.getFunction('threshold')()),
    verifiers,
    heldWei: await provider.getBalance(deployment.settlement),
  };
}
