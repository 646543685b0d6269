/**
 * What governor, guardian and revoker may do, as calls that anyone can send for them or hand to a timelock.
 * contracts/SPEC.md §4.
 */
import type { Signer } from 'ethers';
import type { TxReceipt } from './calls.js';
import { errorAbi, rolesAbi, routerAbi, snpVerifierAbi } from './contracts.js';
import { roleNames, type Deployment, type RoleName } from './deployment.js';
import { chainFailure } from './failure.js';
import { submit, submitOptions, type SubmitChoice } from './transaction.js';

export type RoleAction =
  | { readonly call: 'propose'; readonly role: RoleName; readonly to: string }
  | { readonly call: 'take'; readonly role: RoleName }
  | { readonly call: 'allow' | 'disallow'; readonly token: string }
  | { readonly call: 'pause' | 'unpause' }
  | { readonly call: 'add'; readonly selector: string; readonly verifier: string }
  | { readonly call: 'tombstone'; readonly selector: string }
  | { readonly call: 'condemn'; readonly what: string; readonly reason: string };

interface RoleCall {
  readonly to: string;
  /** 0x-hexadecimal. */
  readonly data: string;
  /** Who must send it. */
  readonly by: RoleName | 'proposed';
}

export function roleCall({ roles, router, snpVerifier }: Deployment, action: RoleAction): RoleCall {
  switch (action.call) {
    case 'propose': {
      const data = rolesAbi.encodeFunctionData('propose', [roleNames.indexOf(action.role), action.to]);
      return { to: roles, data, by: 'governor' };
    }
    case 'take': {
      const data = rolesAbi.encodeFunctionData('take', [roleNames.indexOf(action.role)]);
      return { to: roles, data, by: 'proposed' };
    }
    case 'allow':
    case 'disallow':
      return { to: roles, data: rolesAbi.encodeFunctionData(action.call, [action.token]), by: 'governor' };
    case 'pause':
    case 'unpause': {
      const data = rolesAbi.encodeFunctionData('setPaused', [action.call === 'pause']);
      return { to: roles, data, by: 'guardian' };
    }
    case 'add': {
      const data = routerAbi.encodeFunctionData('add', [action.selector, action.verifier]);
      return { to: router, data, by: 'governor' };
    }
    case 'tombstone':
      return { to: router, data: routerAbi.encodeFunctionData('tombstone', [action.selector]), by: 'guardian' };
    case 'condemn': {
      const data = snpVerifierAbi.encodeFunctionData('condemn', [action.what, action.reason]);
      return { to: snpVerifier, data, by: 'revoker' };
    }
  }
}

/** @throws Rejection with the contract's error, CALLER where the signer does not hold the role; CollateralError CHAIN_* */
export async function sendRoleCall(
  signer: Signer,
  deployment: Deployment,
  action: RoleAction,
  choice?: SubmitChoice,
): Promise<TxReceipt> {
  const { to, data } = roleCall(deployment, action);
  const waiting = submitOptions(deployment.setup.kind, choice);
  try {
    const receipt = await submit(signer, deployment.chainId, { to, data }, waiting);
    return { txHash: receipt.hash, blockNumber: receipt.blockNumber };
  } catch (error) {
    throw chainFailure(error, action.call, errorAbi);
  }
}
