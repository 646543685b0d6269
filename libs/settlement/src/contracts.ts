/** Typed contract objects over the committed ABIs. */
import { Contract, Interface, type ContractRunner } from 'ethers';
import blockRandao from '../../../contracts/abi/BlockRandao.json' with { type: 'json' };
import enclaveRegistry from '../../../contracts/abi/EnclaveRegistry.json' with { type: 'json' };
import settlement from '../../../contracts/abi/Settlement.json' with { type: 'json' };
import teeVerifier from '../../../contracts/abi/TeeVerifier.json' with { type: 'json' };
import termsRules from '../../../contracts/abi/TermsRules.json' with { type: 'json' };
import verifierRouter from '../../../contracts/abi/VerifierRouter.json' with { type: 'json' };
import type { EnclaveRegistry } from './types/EnclaveRegistry.js';
import type { Settlement } from './types/Settlement.js';
import type { VerifierRouter } from './types/VerifierRouter.js';

export const artefacts = { blockRandao, enclaveRegistry, settlement, teeVerifier, termsRules, verifierRouter };

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
