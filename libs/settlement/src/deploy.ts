/** Puts one set of contracts on a chain. Settlement §4. */
import { ContractFactory, Interface, keccak256, type Provider, type Signer } from 'ethers';
import { ConfigurationError, teeSelector } from '#attestation';
import { groth16Selector } from '#libs/zk/verifier';
import issuers from '../../../contracts/snp-issuers.json' with { type: 'json' };
import { chainIdOf, hex, type Hex } from './chain.js';
import { artefacts, errorAbi, routerAt, type Artefact } from './contracts.js';
import { contractNames, extensionNames, type ContractName, type Deployment, type ExtensionName } from './deployment.js';
import { extensionArguments, extensionSelectors, type ExtensionOptions } from './extensions.js';
import { chainFailure } from './failure.js';
import { submit } from './transaction.js';
import { zkSelector } from './zk-selector.js';

export interface DeployOptions {
  /** Sign appraisals; any `threshold` of them register an enclave key. */
  readonly attestors: readonly string[];
  readonly threshold: number;
  /** Adds selectors, tokens, attestors: a timelock outside tests. Absent: the deployer. */
  readonly governor?: string;
  /** Tombstones selectors, refuses new jobs, enters revoked endorsements. Absent: the deployer. */
  readonly guardian?: string;
  /** Receives fees and what is burnt. Absent: the deployer. */
  readonly treasury?: string;
  /** ERC-20 tokens beside the native coin. */
  readonly tokens?: readonly string[];
  /** Price at stake behind one enclave key, in multiples of its provider's stake. */
  readonly exposureFactor?: number;
  /** Whether the Groth16 verifier takes keys of a development setup, whose maker can forge proofs; absent: it does not. */
  readonly developmentKeys?: boolean;
  /** Contracts beside the needed ones; absent: none. */
  readonly extensions?: ExtensionOptions;
}

const nativeCoin = '0x0000000000000000000000000000000000000000';
const waiting = { confirmations: 1, repriceAfterMs: 60_000, repricings: 5 };

/**
 * Deploys the contracts and, where the signer is the governor, enters verifiers and registrar; another governor does
 * that itself.
 * @throws ConfigurationError CHAIN_FUNDS, CHAIN_OTHER; CollateralError CHAIN_UNREACHABLE, Rejection with a contract's error
 */
export async function deploy(signer: Signer, options: DeployOptions): Promise<Deployment> {
  const me = await signer.getAddress();
  const { governor = me, guardian = me, treasury = me, exposureFactor = 10, attestors, threshold } = options;
  const provider = signer.provider;
  if (provider === null) throw new TypeError('the deployer needs a provider');
  try {
    const fromBlock = await provider.getBlockNumber();
    const chainId = Number((await provider.getNetwork()).chainId);
    const real = await chainIdOf(provider);
    if (real !== chainId) throw otherChain(chainId, real);
    const put = (artefact: Artefact, ...args: unknown[]) => create(signer, chainId, artefact, args);
    const router = await put(artefacts.router, governor, guardian);
    const registry = await put(artefacts.registry, governor, [...attestors], threshold);
    const teeVerifier = await put(artefacts.teeVerifier, registry);
    const [rules, randao] = [await put(artefacts.rules), await put(artefacts.randao)];
    const tokens = [nativeCoin, ...(options.tokens ?? [])];
    const parameters = { router, governor, guardian, treasury, exposureFactor, rules, randao, tokens };
    const settlement = await put(artefacts.settlement, parameters);
    const zkSoftmaxRelation = await put(artefacts.zkSoftmaxRelation);
    const zkSquaredErrorRelation = await put(artefacts.zkSquaredErrorRelation);
    const zkStepVerifier = await put(artefacts.zkStepVerifier, zkSoftmaxRelation, zkSquaredErrorRelation);
    const p384 = await put(artefacts.p384);
    const snpVerifier = await put(artefacts.snpVerifier, guardian, issuers, p384);
    const snpRegistrar = await put(artefacts.snpRegistrar, registry, snpVerifier);
    const groth16StepVerifier = await put(artefacts.groth16StepVerifier, options.developmentKeys ?? false);
    const addresses = {
      ...{ settlement, registry, router, teeVerifier, rules, randao, zkSoftmaxRelation, zkSquaredErrorRelation },
      ...{ zkStepVerifier, groth16StepVerifier, p384, snpVerifier, snpRegistrar },
    };
    const extensions = await putExtensions(provider, extensionArguments(addresses, options.extensions ?? {}), put);
    if (governor === me) {
      const routed = { ...selectorsOf(addresses), ...(await extensionSelectors(extensions, provider)) };
      await enter(signer, chainId, addresses, routed);
    }
    const codeHashes = await codeHashesOf(provider, addresses);
    return { chainId, fromBlock, ...addresses, codeHashes, ...(extensions && { extensions }) };
  } catch (error) {
    throw chainFailure(error, 'deploy', errorAbi);
  }
}

type Addresses = Readonly<Record<ContractName, string>>;

async function putExtensions(
  provider: Provider,
  asked: Partial<Record<ExtensionName, readonly unknown[]>>,
  put: (artefact: Artefact, ...args: unknown[]) => Promise<string>,
): Promise<Deployment['extensions']> {
  const made: NonNullable<Deployment['extensions']> = {};
  for (const name of extensionNames) {
    const args = asked[name];
    if (args === undefined) continue;
    const address = await put(artefacts[name], ...args);
    made[name] = { address, codeHash: keccak256(await provider.getCode(address)) };
  }
  return Object.keys(made).length === 0 ? undefined : made;
}

/** What the router must answer, by selector. */
export function selectorsOf({ teeVerifier, zkStepVerifier, groth16StepVerifier }: Addresses): Record<Hex, string> {
  return {
    [hex(teeSelector)]: teeVerifier,
    [hex(zkSelector)]: zkStepVerifier,
    [hex(groth16Selector)]: groth16StepVerifier,
  };
}

export async function codeHashesOf(provider: Provider, addresses: Addresses): Promise<Deployment['codeHashes']> {
  const hashes = contractNames.map(async (name) => [name, keccak256(await provider.getCode(addresses[name]))]);
  return Object.fromEntries(await Promise.all(hashes)) as Deployment['codeHashes'];
}

/** What only the governor may do. */
async function enter(
  signer: Signer,
  chainId: number,
  deployed: Addresses,
  routed: Readonly<Record<string, string>>,
): Promise<void> {
  const router = routerAt(deployed.router, signer);
  for (const [selector, verifier] of Object.entries(routed)) {
    await submit(signer, chainId, await router.add.populateTransaction(selector, verifier), waiting);
  }
  const data = new Interface(artefacts.registry.abi).encodeFunctionData('setRegistrar', [deployed.snpRegistrar]);
  await submit(signer, chainId, { to: deployed.registry, data }, waiting);
}

async function create(
  signer: Signer,
  chainId: number,
  { abi, bytecode }: Artefact,
  args: readonly unknown[],
): Promise<string> {
  const request = await new ContractFactory(abi, bytecode, signer).getDeployTransaction(...args);
  const { contractAddress } = await submit(signer, chainId, request, waiting);
  return contractAddress!;
}

function otherChain(expected: number, got: number): ConfigurationError {
  return new ConfigurationError('CHAIN_OTHER', {
    expected: `an endpoint of chain ${expected}`,
    got: `one of chain ${got}`,
    rule: 'settlement §4',
    action: 'name the chain that is meant, or another endpoint',
  });
}
