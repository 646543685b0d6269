/** Typed contract objects over the committed ABIs. */
import { Contract, Interface, type ContractRunner, type InterfaceAbi } from 'ethers';
import blockRandao from '../../../contracts/abi/BlockRandao.json' with { type: 'json' };
import enclaveRegistry from '../../../contracts/abi/EnclaveRegistry.json' with { type: 'json' };
import groth16StepVerifier from '../../../contracts/abi/Groth16StepVerifier.json' with { type: 'json' };
import proofFacts from '../../../contracts/abi/ProofFacts.json' with { type: 'json' };
import quorumReexecution from '../../../contracts/abi/QuorumReexecution.json' with { type: 'json' };
import validationAdapter from '../../../contracts/abi/ValidationAdapter.json' with { type: 'json' };
import p384 from '../../../contracts/abi/P384.json' with { type: 'json' };
import settlement from '../../../contracts/abi/Settlement.json' with { type: 'json' };
import snpRegistrar from '../../../contracts/abi/SnpRegistrar.json' with { type: 'json' };
import snpVerifier from '../../../contracts/abi/SnpVerifier.json' with { type: 'json' };
import teeVerifier from '../../../contracts/abi/TeeVerifier.json' with { type: 'json' };
import termsRules from '../../../contracts/abi/TermsRules.json' with { type: 'json' };
import verifierRouter from '../../../contracts/abi/VerifierRouter.json' with { type: 'json' };
import zkSoftmaxRelation from '../../../contracts/abi/ZkSoftmaxRelation.json' with { type: 'json' };
import zkSquaredErrorRelation from '../../../contracts/abi/ZkSquaredErrorRelation.json' with { type: 'json' };
import zkStepVerifier from '../../../contracts/abi/ZkStepVerifier.json' with { type: 'json' };
import type { ContractName, ExtensionName } from './deployment.js';
import type { EnclaveRegistry } from './types/EnclaveRegistry.js';
import type { Settlement } from './types/Settlement.js';
import type { VerifierRouter } from './types/VerifierRouter.js';

export interface Artefact {
  readonly abi: InterfaceAbi;
  /** Creation code, 0x-hexadecimal. */
  readonly bytecode: string;
}

export const artefacts = {
  settlement,
  registry: enclaveRegistry,
  router: verifierRouter,
  teeVerifier,
  rules: termsRules,
  randao: blockRandao,
  zkSoftmaxRelation,
  zkSquaredErrorRelation,
  zkStepVerifier,
  groth16StepVerifier,
  p384,
  snpVerifier,
  snpRegistrar,
  proofFacts,
  quorumReexecution,
  validationAdapter,
} satisfies Record<ContractName | ExtensionName, Artefact>;

export const settlementAbi = new Interface(settlement.abi);
const registryAbi = new Interface(enclaveRegistry.abi);
const routerAbi = new Interface(verifierRouter.abi);
const erc20Abi = new Interface([
  'function allowance(address owner, address spender) view returns (uint256)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function balanceOf(address who) view returns (uint256)',
]);

/** Errors of all contracts: a revert may come from any of them through Settlement. */
export const errorAbi = new Interface(
  Object.values(artefacts)
    .flatMap((artefact): readonly { type: string; name?: string }[] => artefact.abi)
    .filter((entry) => entry.type === 'error')
    .filter((entry, index, all) => all.findIndex((other) => other.name === entry.name) === index),
);

export const settlementAt = (address: string, runner: ContractRunner) =>
  new Contract(address, settlementAbi, runner) as unknown as Settlement;

export const registryAt = (address: string, runner: ContractRunner) =>
  new Contract(address, registryAbi, runner) as unknown as EnclaveRegistry;

export const routerAt = (address: string, runner: ContractRunner) =>
  new Contract(address, routerAbi, runner) as unknown as VerifierRouter;

export const erc20At = (address: string, runner: ContractRunner) => new Contract(address, erc20Abi, runner);
