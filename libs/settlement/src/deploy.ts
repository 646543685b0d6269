/**
 * Puts one set of contracts on a chain, each at the address that follows from its setup. Whatever stands there already is
 * left as it is, so a deployment that broke off is taken up again by the same call. contracts/SPEC.md §4.
 */
import { getAddress, keccak256, ZeroHash, type JsonRpcApiProvider, type Provider, type Signer } from 'ethers';
import { ConfigurationError } from '#attestation/base';
import { checkCapabilities } from './capabilities.js';
import { chainKindOf, chainSettings } from './chain-kinds.js';
import { chainIdOf } from './chain.js';
import { errorAbi, routerAt } from './contracts.js';
import { create2, ensureFactory, hasCode } from './create2.js';
import {
  contractNames,
  extensionNames,
  SetupJson,
  type ContractName,
  type Deployment,
  type Setup,
} from './deployment.js';
import { extensionSelectors } from './extensions.js';
import { chainFailure } from './failure.js';
import { placesOf, selectorsOf, type Addresses, type Places } from './graph.js';
import { checkRandao, testRandao } from './randao.js';
import { submit, submitOptions, type SubmitOptions } from './transaction.js';

type SetupOptions = Partial<Omit<Setup, 'chainId'>>;

export interface DeployOptions extends SetupOptions {
  /** Of the attempt that broke off; absent: found from the chain. */
  readonly fromBlock?: number;
  /** Most that one unit of gas may cost; absent: as chains of this kind have it. */
  readonly feePerGasMaxWei?: bigint | undefined;
}

/**
 * Roles that are not named are the deployer's.
 * @throws ConfigurationError CHAIN_KIND, CHAIN_DEPLOYMENT, CONTRACTS_SIMULATED
 */
export function setupOf(chainId: number, deployer: string, named: SetupOptions): Setup {
  const kind = chainKindOf(chainId, named.kind);
  const roles = { governor: deployer, guardian: deployer, treasury: deployer, revoker: deployer };
  const none = { salt: ZeroHash, tokens: [], developmentKeys: false, simulatedIssuers: [] };
  const extensions = { splitProofs: true, units: true, ...named.extensions };
  const setup = SetupJson.parse({ ...roles, ...none, ...named, chainId, kind, extensions });
  if (setup.simulatedIssuers.length > 0 && kind !== 'local') {
    throw new ConfigurationError('CONTRACTS_SIMULATED', {
      expected: 'no simulated vendor on a chain where anything is at stake',
      got: `${setup.simulatedIssuers.length} on a chain of kind ${kind}`,
      rule: 'contracts/SPEC.md §4',
    });
  }
  return setup;
}

/**
 * Deploys what is not there yet and, where the signer is the governor, enters the verifiers; another governor does that
 * itself.
 * @throws ConfigurationError CHAIN_FUNDS, CHAIN_OTHER, CHAIN_CAPABILITY, CHAIN_RANDAO, CHAIN_FACTORY; CollateralError
 *         CHAIN_FEES, CHAIN_UNREACHABLE, Rejection with a contract's error
 */
export async function deploy(
  signer: Signer,
  { fromBlock, feePerGasMaxWei, ...options }: DeployOptions = {},
): Promise<Deployment> {
  const provider = signer.provider as JsonRpcApiProvider | null;
  if (provider === null) throw new TypeError('the deployer needs a provider');
  try {
    const chainId = Number((await provider.getNetwork()).chainId);
    const real = await chainIdOf(provider);
    if (real !== chainId) throw otherChain(chainId, real);
    const me = await signer.getAddress();
    const setup = setupOf(chainId, me, options);
    const waiting = submitOptions(setup.kind, { feePerGasMaxWei });
    await checkCapabilities(provider);
    const { sample } = chainSettings[setup.kind];
    // A chain without two blocks is judged when the contracts stand on it.
    if (sample !== null && (await provider.getBlockNumber()) > 1) await checkRandao(provider);
    const places = placesOf(setup);
    const firstBlock = fromBlock ?? (await firstBlockOf(provider, places.roles.address));
    await ensureFactory(signer, chainId, waiting);
    const { salt } = setup;
    for (const { initCode } of Object.values(places)) await create2(signer, chainId, { salt, initCode }, waiting);
    const deployment = await describe(provider, setup, places, firstBlock);
    if (getAddress(setup.governor) === me) await enter(signer, deployment, waiting);
    if (sample !== null) await testRandao(signer, deployment, waiting);
    return deployment;
  } catch (error) {
    throw chainFailure(error, 'deploy', errorAbi);
  }
}

/** The first block with code at `address`; the newest where there is none. */
async function firstBlockOf(provider: Provider, address: string): Promise<number> {
  let [low, high] = [0, await provider.getBlockNumber()];
  if (!(await hasCode(provider, address))) return high;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await provider.getCode(address, middle)) === '0x') low = middle + 1;
    else high = middle;
  }
  return low;
}

async function describe(provider: Provider, setup: Setup, places: Places, fromBlock: number): Promise<Deployment> {
  const codeHash = async (address: string): Promise<string> => keccak256(await provider.getCode(address));
  const addresses = {} as Record<ContractName, string>;
  const codeHashes = {} as Record<ContractName, string>;
  for (const name of contractNames) {
    addresses[name] = places[name].address;
    codeHashes[name] = await codeHash(places[name].address);
  }
  const extensions: NonNullable<Deployment['extensions']> = {};
  for (const name of extensionNames) {
    const address = places[name]?.address;
    if (address !== undefined) extensions[name] = { address, codeHash: await codeHash(address) };
  }
  const hasExtensions = Object.keys(extensions).length > 0;
  return { chainId: setup.chainId, fromBlock, ...addresses, codeHashes, ...(hasExtensions && { extensions }), setup };
}

/** Selectors and their verifiers as the router must have them. */
export async function routedOf(deployment: Deployment, provider: Provider): Promise<Record<string, string>> {
  const at = Object.fromEntries(Object.entries(deployment.extensions ?? {}).map(([name, one]) => [name, one?.address]));
  return { ...selectorsOf(deployment as Addresses), ...(await extensionSelectors(at, provider)) };
}

/** What only the governor may do. */
async function enter(signer: Signer, deployment: Deployment, waiting: SubmitOptions): Promise<void> {
  const router = routerAt(deployment.router, signer);
  for (const [selector, verifier] of Object.entries(await routedOf(deployment, signer.provider!))) {
    if (await router.isLive(selector)) continue;
    await submit(signer, deployment.chainId, await router.add.populateTransaction(selector, verifier), waiting);
  }
}

function otherChain(expected: number, got: number): ConfigurationError {
  return new ConfigurationError('CHAIN_OTHER', {
    expected: `an endpoint of chain ${expected}`,
    got: `one of chain ${got}`,
    rule: 'contracts/SPEC.md §4',
    action: 'name the chain that is meant, or another endpoint',
  });
}
