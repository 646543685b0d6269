/** Where each contract of a set must stand: computed from its setup alone, without a chain. contracts/SPEC.md §4. */
import { Interface } from 'ethers';
import { to0x } from '#attestation/base';
import { teeSelector } from '#attestation/records';
import { groth16Selector } from '#libs/zk/verifier';
import issuers from '../../../contracts/snp-issuers.json' with { type: 'json' };
import { chainSettings } from './chain-kinds.js';
import type { Hex } from './chain.js';
import { artefacts } from './contracts.js';
import { create2Address } from './create2.js';
import { contractNames, extensionNames, type ContractName, type ExtensionName, type Setup } from './deployment.js';
import { zkSelector } from './zk-selector.js';

interface Place {
  readonly address: string;
  /** Creation code with the constructor's arguments. */
  readonly initCode: string;
}

export type Addresses = Readonly<Record<ContractName, string>>;
export type Places = Readonly<Record<ContractName, Place> & Partial<Record<ExtensionName, Place>>>;

export const nativeCoin = '0x0000000000000000000000000000000000000000';

type Arguments = (setup: Setup, at: Addresses) => readonly unknown[];
/** Of the needed contracts, and of the extensions before this one. */
type Known = Addresses & Readonly<Partial<Record<ExtensionName, string>>>;

const constructors: Readonly<Record<ContractName, Arguments>> = {
  roles: ({ governor, guardian, treasury, revoker, tokens }) => [
    ...[governor, guardian, treasury, revoker],
    [nativeCoin, ...tokens],
  ],
  router: (_, { roles }) => [roles],
  p384: () => [],
  snpVerifier: ({ simulatedIssuers }, { roles, p384 }) => [
    roles,
    [...issuers, ...simulatedIssuers].map(({ modulusHash, product, vlek }) => ({ modulusHash, product, vlek })),
    p384,
  ],
  snpRegistry: (_, { snpVerifier }) => [snpVerifier],
  keys: (_, { snpRegistry }) => [snpRegistry],
  randao: () => [],
  rules: ({ kind }, { router, randao }) => [router, randao, chainSettings[kind].floors],
  duties: (_, { router, randao }) => [router, randao],
  delivery: () => [],
  settlement: (_, { roles, router, rules, duties, delivery }) => [{ roles, router, rules, duties, delivery }],
  zkSoftmaxRelation: () => [],
  zkSquaredErrorRelation: () => [],
  zkStepVerifier: (setup, at) => [relationsOf(setup, at)],
  groth16StepVerifier: ({ developmentKeys }) => [developmentKeys],
};

/** Of one segment and, where they are asked for, of units, as the verifiers of step proofs take them. */
function relationsOf(setup: Setup, { zkSoftmaxRelation, zkSquaredErrorRelation }: Addresses): readonly string[] {
  const ofSegments = [zkSoftmaxRelation, zkSquaredErrorRelation];
  if (setup.extensions.units !== true) return [...ofSegments, nativeCoin, nativeCoin];
  const matmuls = placeOf(setup, 'zkUnitMatmuls', []).address;
  const ofUnits = (['zkUnitSoftmaxRelation', 'zkUnitSquaredErrorRelation'] as const).map(
    (name) => placeOf(setup, name, [matmuls]).address,
  );
  return [...ofSegments, ...ofUnits];
}

/** undefined: the setup does not ask for it. */
const extensionConstructors: Readonly<
  Record<ExtensionName, (setup: Setup, at: Known) => readonly unknown[] | undefined>
> = {
  zkUnitMatmuls: ({ extensions }) => (extensions.units === true ? [] : undefined),
  zkUnitSoftmaxRelation: (_, { zkUnitMatmuls }) => (zkUnitMatmuls === undefined ? undefined : [zkUnitMatmuls]),
  zkUnitSquaredErrorRelation: (_, { zkUnitMatmuls }) => (zkUnitMatmuls === undefined ? undefined : [zkUnitMatmuls]),
  proofFacts: ({ extensions }, { zkStepVerifier }) =>
    extensions.proofFacts === true ? [zkStepVerifier, to0x(zkSelector)] : undefined,
  zkProofHead: (setup, at) => (setup.extensions.splitProofs === true ? [relationsOf(setup, at)] : undefined),
  zkSplitVerifier: (_, { zkProofHead }) => (zkProofHead === undefined ? undefined : [zkProofHead]),
  quorumReexecution: ({ extensions }, { snpRegistry }) => {
    const auditors = extensions.quorumReexecution;
    return auditors && [snpRegistry, auditors.snpPolicy, auditors.threshold];
  },
  validationAdapter: ({ extensions }, { settlement }) =>
    extensions.validationRegistry === undefined ? undefined : [settlement, extensions.validationRegistry],
};

export function placesOf(setup: Setup): Places {
  const at: Partial<Record<ContractName | ExtensionName, string>> = {};
  const places: Partial<Record<ContractName | ExtensionName, Place>> = {};
  for (const name of contractNames) {
    const place = placeOf(setup, name, constructors[name](setup, at as Addresses));
    at[name] = place.address;
    places[name] = place;
  }
  for (const name of extensionNames) {
    const args = extensionConstructors[name](setup, at as Known);
    if (args === undefined) continue;
    const place = placeOf(setup, name, args);
    at[name] = place.address;
    places[name] = place;
  }
  return places as Places;
}

function placeOf({ salt }: Setup, name: ContractName | ExtensionName, args: readonly unknown[]): Place {
  const { abi, bytecode } = artefacts[name];
  const initCode = bytecode + new Interface(abi).encodeDeploy(args).slice(2);
  return { initCode, address: create2Address(salt, initCode) };
}

/** What the router must answer, by selector, but for the extensions. */
export function selectorsOf({ keys, zkStepVerifier, groth16StepVerifier }: Addresses): Record<Hex, string> {
  return {
    [to0x(teeSelector)]: keys,
    [to0x(zkSelector)]: zkStepVerifier,
    [to0x(groth16Selector)]: groth16StepVerifier,
  };
}
