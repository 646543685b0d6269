/**
 * Contracts at addresses that follow from their creation code and a salt alone: the public deterministic deployment
 * proxy makes them. That code made the contract at such an address, its storage included.
 */
import { getCreate2Address, keccak256, Transaction, type Provider, type Signer } from 'ethers';
import { ConfigurationError } from '#attestation/base';
import { submit, untilMined, type SubmitOptions } from './transaction.js';

/** Has no owner and takes salt ‖ creation code. */
export const factory = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
export const factoryCode =
  '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3';
/** Signed by nobody: its signature was chosen, so its sender can send nothing else. The same on every chain. */
const factoryTransaction =
  '0xf8a58085174876e800830186a08080b853604580600e600039806000f350fe7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf31ba02222222222222222222222222222222222222222222222222222222222222222a02222222222222222222222222222222222222222222222222222222222222222';

export const create2Address = (salt: string, initCode: string): string =>
  getCreate2Address(factory, salt, keccak256(initCode));

export async function hasCode(provider: Provider, address: string): Promise<boolean> {
  return (await provider.getCode(address)) !== '0x';
}

/**
 * Puts the proxy on a chain that lacks it: funds the account of its transaction and sends that.
 * @throws ConfigurationError CHAIN_FACTORY where another contract stands there or the chain refuses the transaction
 */
export async function ensureFactory(signer: Signer, chainId: number, waiting: SubmitOptions): Promise<void> {
  const provider = signer.provider!;
  if (await isFactory(provider)) return;
  const { from, gasLimit, gasPrice } = Transaction.from(factoryTransaction);
  const lacking = gasLimit * gasPrice! - (await provider.getBalance(from!));
  if (lacking > 0n) await submit(signer, chainId, { to: from, value: lacking }, waiting);
  try {
    await untilMined(provider, await provider.broadcastTransaction(factoryTransaction), waiting.repriceAfterMs);
  } catch (error) {
    throw refused(error instanceof Error ? error.message.slice(0, 200) : String(error));
  }
  if (!(await isFactory(provider))) throw refused('no such contract');
}

/** @throws ConfigurationError CHAIN_FACTORY where another contract stands at its address */
async function isFactory(provider: Provider): Promise<boolean> {
  const code = await provider.getCode(factory);
  if (code !== '0x' && code !== factoryCode) throw refused(`a contract with code ${keccak256(code)}`);
  return code === factoryCode;
}

/** Makes the contract unless it stands there already. @returns whether it was made now */
export async function create2(
  signer: Signer,
  chainId: number,
  { salt, initCode }: { readonly salt: string; readonly initCode: string },
  waiting: SubmitOptions,
): Promise<boolean> {
  const provider = signer.provider!;
  if (await hasCode(provider, create2Address(salt, initCode))) return false;
  try {
    await submit(signer, chainId, { to: factory, data: salt + initCode.slice(2) }, waiting);
  } catch (error) {
    // Another deployer may have been faster; what stands there now is the same.
    if (!(await hasCode(provider, create2Address(salt, initCode)))) throw error;
    return false;
  }
  return true;
}

function refused(got: string): ConfigurationError {
  return new ConfigurationError('CHAIN_FACTORY', {
    expected: `the deterministic deployment proxy at ${factory}`,
    got,
    rule: 'contracts/SPEC.md §4',
    action: 'ask the operator of the chain for it, or use a chain that has it',
  });
}
