/** Who governs a set of contracts, which verifiers it listens to, and what it holds. */
import type { Provider } from 'ethers';
import { errorAbi, rolesAt, routerAt } from './contracts.js';
import { routedOf } from './deploy.js';
import { roleNames, type Deployment, type RoleName } from './deployment.js';
import { chainFailure } from './failure.js';

interface DeploymentStatus {
  readonly block: number;
  readonly governor: string;
  /** May refuse new jobs and retire verifiers. */
  readonly guardian: string;
  readonly treasury: string;
  /** May condemn chips, certificates, issuers and products. */
  readonly revoker: string;
  /** Roles that are to pass on, and from when they may be taken, unix seconds. */
  readonly proposed: readonly { readonly role: RoleName; readonly to: string; readonly from: number }[];
  readonly paused: boolean;
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
  const roles = rolesAt(deployment.roles, provider);
  const router = routerAt(deployment.router, provider);
  const verifiers: { selector: string; address: string; live: boolean }[] = [];
  for (const [selector, address] of Object.entries(await routedOf(deployment, provider))) {
    verifiers.push({ selector, address, live: await router.isLive(selector) });
  }
  const proposed: { role: RoleName; to: string; from: number }[] = [];
  for (const [index, role] of roleNames.entries()) {
    const { to, from } = await roles.transferOf(index);
    if (BigInt(to) !== 0n) proposed.push({ role, to, from: Number(from) });
  }
  return {
    block: await provider.getBlockNumber(),
    governor: await roles.governor(),
    guardian: await roles.guardian(),
    treasury: await roles.treasury(),
    revoker: await roles.revoker(),
    proposed,
    paused: await roles.paused(),
    verifiers,
    heldWei: await provider.getBalance(deployment.settlement),
  };
}
