/** Puts one set of contracts on a chain. Settlement §4. */
import { ContractFactory, type InterfaceAbi, type Signer } from 'ethers';
import { teeSelector } from '#attestation';
import { hex } from './chain.js';
import { artefacts, errorAbi, routerAt } from './contracts.js';
import { chainFailure } from './failure.js';

export interface DeployOptions {
  /** Sign appraisals; any `threshold` of them register an enclave key. */
  readonly attestors: readonly string[];
  readonly threshold: number;
  /** Adds selectors, tokens, attestors: a timelock outside tests. Absent: the deployer. */
  readonly governor?: string;
  /** Tombstones selectors, refuses new jobs. Absent: the deployer. */
  readonly guardian?: string;
  /** Receives fees and what is burnt. Absent: the deployer. */
  readonly treasury?: string;
  /** ERC-20 tokens beside the native coin. */
  readonly tokens?: readonly string[];
  /** Price at stake behind one enclave key, in multiples of its provider's stake. */
  readonly exposureFactor?: number;
}

export interface Deployment {
  readonly chainId: number;
  /** First block that can hold an event of these contracts. */
  readonly fromBlock: number;
  readonly settlement: string;
  readonly registry: string;
  readonly router: string;
  readonly teeVerifier: string;
  readonly rules: string;
  readonly randao: string;
}

const minedWithinMs = 300_000;
const nativeCoin = '0x0000000000000000000000000000000000000000';

/**
 * Deploys the contracts and enters the TEE verifier into the router, which the governor must do: so the signer, unless
 * `governor` names another account, in which case that account adds the selector later.
 * @throws ConfigurationError CHAIN_FUNDS, CollateralError CHAIN_UNREACHABLE, Rejection with a contract's error
 */
export async function deploy(signer: Signer, options: DeployOptions): Promise<Deployment> {
  const me = await signer.getAddress();
  const governor = options.governor ?? me;
  const guardian = options.guardian ?? me;
  const provider = signer.provider;
  if (provider === null) throw new TypeError('the deployer needs a provider');
  try {
    const fromBlock = await provider.getBlockNumber();
    const { chainId } = await provider.getNetwork();
    const router = await create(signer, artefacts.verifierRouter, governor, guardian);
    const registry = await create(
      signer,
      artefacts.enclaveRegistry,
      governor,
      [...options.attestors],
      options.threshold,
    );
    const tee = await create(signer, artefacts.teeVerifier, registry);
    const rules = await create(signer, artefacts.termsRules);
    const randao = await create(signer, artefacts.blockRandao);
    const escrow = await create(signer, artefacts.settlement, {
      router,
      governor,
      guardian,
      treasury: options.treasury ?? me,
      exposureFactor: options.exposureFactor ?? 10,
      rules,
      randao,
      tokens: [nativeCoin, ...(options.tokens ?? [])],
    });
    if (governor === me) await (await routerAt(router, signer).add(hex(teeSelector), tee)).wait(1, minedWithinMs);
    return {
      chainId: Number(chainId),
      fromBlock,
      settlement: escrow,
      registry,
      router,
      teeVerifier: tee,
      rules,
      randao,
    };
  } catch (error) {
    throw chainFailure(error, 'deploy', errorAbi);
  }
}

async function create(
  signer: Signer,
  artefact: { readonly abi: InterfaceAbi; readonly bytecode: string },
  ...args: unknown[]
): Promise<string> {
  const contract = await new ContractFactory(artefact.abi, artefact.bytecode, signer).deploy(...args);
  await contract.deploymentTransaction()!.wait(1, minedWithinMs);
  return contract.getAddress();
}
