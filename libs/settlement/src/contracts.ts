/** Typed contract objects over the committed ABIs. */
import { Contract, Interface, type ContractRunner, type InterfaceAbi } from 'ethers';
import blockRandao from '../../../contracts/abi/BlockRandao.json' with { type: 'json' };
import delivery from '../../../contracts/abi/Delivery.json' with { type: 'json' };
import duties from '../../../contracts/abi/Duties.json' with { type: 'json' };
import groth16StepVerifier from '../../../contracts/abi/Groth16StepVerifier.json' with { type: 'json' };
import keys from '../../../contracts/abi/Keys.json' with { type: 'json' };
import proofFacts from '../../../contracts/abi/ProofFacts.json' with { type: 'json' };
import quorumReexecution from '../../../contracts/abi/QuorumReexecution.json' with { type: 'json' };
import validationAdapter from '../../../contracts/abi/ValidationAdapter.json' with { type: 'json' };
import p384 from '../../../contracts/abi/P384.json' with { type: 'json' };
import roles from '../../../contracts/abi/Roles.json' with { type: 'json' };
import settlement from '../../../contracts/abi/Settlement.json' with { type: 'json' };
import snpRegistry from '../../../contracts/abi/SnpRegistry.json' with { type: 'json' };
import snpVerifier from '../../../contracts/abi/SnpVerifier.json' with { type: 'json' };
import termsRules from '../../../contracts/abi/TermsRules.json' with { type: 'json' };
import verifierRouter from '../../../contracts/abi/VerifierRouter.json' with { type: 'json' };
import zkProofHead from '../../../contracts/abi/ZkProofHead.json' with { type: 'json' };
import zkSoftmaxRelation from '../../../contracts/abi/ZkSoftmaxRelation.json' with { type: 'json' };
import zkSplitVerifier from '../../../contracts/abi/ZkSplitVerifier.json' with { type: 'json' };
import zkSquaredErrorRelation from '../../../contracts/abi/ZkSquaredErrorRelation.json' with { type: 'json' };
import zkStepVerifier from '../../../contracts/abi/ZkStepVerifier.json' with { type: 'json' };
import zkUnitMatmuls from '../../../contracts/abi/ZkUnitMatmuls.json' with { type: 'json' };
import zkUnitSoftmaxRelation from '../../../contracts/abi/ZkUnitSoftmaxRelation.json' with { type: 'json' };
import zkUnitSquaredErrorRelation from '../../../contracts/abi/ZkUnitSquaredErrorRelation.json' with { type: 'json' };
import type { ContractName, ExtensionName } from './deployment.js';
import type { Delivery } from './types/Delivery.js';
import type { Duties } from './types/Duties.js';
import type { Keys } from './types/Keys.js';
import type { Roles } from './types/Roles.js';
import type { Settlement } from './types/Settlement.js';
import type { SnpRegistry } from './types/SnpRegistry.js';
import type { SnpVerifier } from './types/SnpVerifier.js';
import type { VerifierRouter } from './types/VerifierRouter.js';

export interface Artefact {
  readonly abi: InterfaceAbi;
  /** Creation code, 0x-hexadecimal. */
  readonly bytecode: string;
}

export const artefacts = {
  settlement,
  roles,
  router: verifierRouter,
  keys,
  duties,
  delivery,
  rules: termsRules,
  randao: blockRandao,
  zkSoftmaxRelation,
  zkSquaredErrorRelation,
  zkStepVerifier,
  groth16StepVerifier,
  p384,
  snpVerifier,
  snpRegistry,
  proofFacts,
  zkUnitMatmuls,
  zkUnitSoftmaxRelation,
  zkUnitSquaredErrorRelation,
  zkProofHead,
  zkSplitVerifier,
  quorumReexecution,
  validationAdapter,
} satisfies Record<ContractName | ExtensionName, Artefact>;

export const settlementAbi = new Interface(settlement.abi);
export const keysAbi = new Interface(keys.abi);
export const rolesAbi = new Interface(roles.abi);
export const routerAbi = new Interface(verifierRouter.abi);
export const snpVerifierAbi = new Interface(snpVerifier.abi);
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

export const dutiesAt = (address: string, runner: ContractRunner) =>
  new Contract(address, duties.abi, runner) as unknown as Duties;

export const keysAt = (address: string, runner: ContractRunner) =>
  new Contract(address, keysAbi, runner) as unknown as Keys;

export const deliveryAt = (address: string, runner: ContractRunner) =>
  new Contract(address, delivery.abi, runner) as unknown as Delivery;

export const rolesAt = (address: string, runner: ContractRunner) =>
  new Contract(address, rolesAbi, runner) as unknown as Roles;

export const routerAt = (address: string, runner: ContractRunner) =>
  new Contract(address, routerAbi, runner) as unknown as VerifierRouter;

export const snpRegistryAt = (address: string, runner: ContractRunner) =>
  new Contract(address, snpRegistry.abi, runner) as unknown as SnpRegistry;

export const snpVerifierAt = (address: string, runner: ContractRunner) =>
  new Contract(address, snpVerifierAbi, runner) as unknown as SnpVerifier;

export const randaoAt = (address: string, runner: ContractRunner) => new Contract(address, blockRandao.abi, runner);

export const erc20At = (address: string, runner: ContractRunner) => new Contract(address, erc20Abi, runner);
