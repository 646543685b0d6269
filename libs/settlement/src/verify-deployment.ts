/**
 * Whether a deployment file names the contracts of this version, wired to each other. The expected code is what the
 * committed creation code returns when it is run as a call with the constructor's arguments, which are the file's
 * addresses and what the contracts themselves say; so its immutables are compared too.
 */
import { ContractFactory, getCreateAddress, keccak256, type Provider } from 'ethers';
import { domainSeparator, registryDomainSeparator, toHex, type Digest } from '#attestation';
import issuers from '../../../contracts/snp-issuers.json' with { type: 'json' };
import { addressBytes, chainIdOf } from './chain.js';
import { ask as askAt } from './ask.js';
import { artefacts, errorAbi, type Artefact } from './contracts.js';
import { selectorsOf } from './deploy.js';
import { contractNames, extensionNames, type ContractName, type Deployment } from './deployment.js';
import { extensionArguments, extensionSelectors, extensionsOnChain } from './extensions.js';
import { chainFailure } from './failure.js';

export interface DeploymentFinding {
  readonly what: string;
  readonly expected: string;
  readonly got: string;
}

/** An account that has sent nothing: what it creates in a call stands at a known address. */
const creator = '0x00000000000000000000000000000000c0de0001';
const created = getCreateAddress({ from: creator, nonce: 0 });
const nativeCoin = '0x0000000000000000000000000000000000000000';

/**
 * @returns everything that was compared; a finding whose `got` is not what was expected stands against the deployment
 * @throws CollateralError CHAIN_UNREACHABLE
 */
export async function verifyDeployment(deployment: Deployment, provider: Provider): Promise<DeploymentFinding[]> {
  try {
    const args = await constructorArguments(deployment, provider);
    const findings: DeploymentFinding[] = [];
    const chainId = await chainIdOf(provider);
    findings.push({ what: 'chain', expected: String(deployment.chainId), got: String(chainId) });
    for (const name of contractNames) {
      const got = keccak256(await provider.getCode(deployment[name]));
      const code = await expectedCode(artefacts[name], args[name], provider);
      findings.push({ what: `${name}, code`, expected: keccak256(atHome(name, code, deployment)), got });
      findings.push({ what: `${name}, file`, expected: deployment.codeHashes[name], got });
    }
    return [...findings, ...(await extensions(deployment, provider)), ...(await wiring(deployment, provider))];
  } catch (error) {
    throw chainFailure(error, 'verify', errorAbi);
  }
}

const ask = (deployment: Deployment, provider: Provider, name: ContractName, getter: string, ...given: unknown[]) =>
  askAt(provider, artefacts[name], deployment[name], getter, ...given);

/** Those that the file names: made from this set's contracts, by this version's code. */
async function extensions(deployment: Deployment, provider: Provider): Promise<DeploymentFinding[]> {
  const findings: DeploymentFinding[] = [];
  const args = extensionArguments(deployment, await extensionsOnChain(deployment, provider));
  for (const name of extensionNames) {
    const named = deployment.extensions?.[name];
    if (named === undefined) continue;
    const got = keccak256(await provider.getCode(named.address));
    const code = await expectedCode(artefacts[name], args[name]!, provider);
    findings.push({ what: `${name}, code`, expected: keccak256(code), got });
    findings.push({ what: `${name}, file`, expected: named.codeHash, got });
  }
  return findings;
}

async function constructorArguments(
  deployment: Deployment,
  provider: Provider,
): Promise<Record<ContractName, readonly unknown[]>> {
  const account = async (name: ContractName, getter: string): Promise<string> => {
    const answer = await ask(deployment, provider, name, getter);
    return /^0x[0-9a-fA-F]{40}$/.test(answer) ? answer : nativeCoin;
  };
  const { router, registry, rules, randao, zkSoftmaxRelation, zkSquaredErrorRelation, p384, snpVerifier } = deployment;
  const factor = await ask(deployment, provider, 'settlement', 'exposureFactor');
  const parameters = {
    ...{ router, rules, randao, tokens: [nativeCoin] },
    governor: await account('settlement', 'governor'),
    guardian: await account('settlement', 'guardian'),
    treasury: await account('settlement', 'treasury'),
    exposureFactor: /^\d+$/.test(factor) ? factor : '0',
  };
  return {
    settlement: [parameters],
    // The set of attestors is storage, which is no part of the code.
    registry: [await account('registry', 'governor'), [creator], 1],
    router: [await account('router', 'governor'), await account('router', 'guardian')],
    teeVerifier: [registry],
    rules: [],
    randao: [],
    zkSoftmaxRelation: [],
    zkSquaredErrorRelation: [],
    zkStepVerifier: [zkSoftmaxRelation, zkSquaredErrorRelation],
    groth16StepVerifier: [(await ask(deployment, provider, 'groth16StepVerifier', 'takesDevelopmentKeys')) === 'true'],
    p384: [],
    snpVerifier: [await account('snpVerifier', 'revoker'), issuers, p384],
    snpRegistrar: [registry, snpVerifier],
  };
}

/** Empty where the constructor refuses the arguments. */
async function expectedCode(
  { abi, bytecode }: Artefact,
  args: readonly unknown[],
  provider: Provider,
): Promise<string> {
  const { data } = await new ContractFactory(abi, bytecode).getDeployTransaction(...args);
  try {
    return await provider.call({ from: creator, data });
  } catch (error) {
    if ((error as { code?: unknown }).code === 'CALL_EXCEPTION') return '0x';
    throw error;
  }
}

/** The code with the domain separator of the place where it stands. */
function atHome(name: ContractName, code: string, deployment: Deployment): string {
  const separatorOf = separators[name];
  if (separatorOf === undefined) return code;
  const at = (address: string): string =>
    toHex(separatorOf({ chainId: deployment.chainId, verifyingContract: addressBytes(address) }));
  return code.replaceAll(at(created), at(deployment[name]));
}

/** Contracts that hold their own address, in an EIP-712 domain separator. */
const separators: Partial<
  Record<ContractName, (contract: { chainId: number; verifyingContract: Uint8Array }) => Digest>
> = {
  settlement: domainSeparator,
  registry: registryDomainSeparator,
};

/** What the constructors' immutables do not hold. */
async function wiring(deployment: Deployment, provider: Provider): Promise<DeploymentFinding[]> {
  const asked = (name: ContractName, getter: string, ...given: unknown[]) =>
    ask(deployment, provider, name, getter, ...given);
  const added = await extensionSelectors(deployment.extensions, provider);
  const selectors: Record<string, string> = { ...selectorsOf(deployment), ...added };
  const routed = Object.entries(selectors).map(async ([selector, expected]) => ({
    ...{ what: `router, ${selector}`, expected, got: await asked('router', 'verifierOf', selector) },
  }));
  const listed = issuers.map(async ({ name, modulusHash, product, vlek }) => ({
    what: `snpVerifier, ${name} ${modulusHash.slice(0, 10)}`,
    expected: [modulusHash, product, vlek].join(),
    got: await asked('snpVerifier', 'issuers', modulusHash),
  }));
  return Promise.all([
    ...routed,
    ...listed,
    asked('registry', 'registrar').then((got) => ({
      what: 'registry, registrar',
      expected: deployment.snpRegistrar,
      got,
    })),
    asked('settlement', 'allowed', nativeCoin).then((got) => ({
      what: 'settlement, native coin',
      expected: 'true',
      got,
    })),
  ]);
}
