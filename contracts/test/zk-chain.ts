/** The step verifier on a chain of its own, and the one in TypeScript: what each says to a seal. */
import { readFileSync } from 'node:fs';
import { Contract, ContractFactory, HDNodeWallet, id, type JsonRpcProvider } from 'ethers';
import { Rejection } from '#attestation/base';
import { connect, startAnvil, testMnemonic } from '#libs/settlement';
import type { Plan, StepProofStatement } from '#libs/zk/verifier';
import { Transcript } from '../../libs/zk/src/transcript/transcript.js';
import { ProofBytes } from '../../libs/zk/src/verifier/source.js';
import { runVerifier } from '../../libs/zk/src/verifier/verify.js';
import { ethCallOf } from './eth-call.js';
import { encodeSeal, withLastBytes, type SealFields } from './zk-seal.js';

export const hardfork = 'osaka';
export const transactionGasMax = 16_777_216;
const codes = [
  ...['STEP_PLAN', 'STEP_STATEMENT', 'MERKLE_PATH', 'MERKLE_INDEX', 'ORDER_TOO_FEW_RECORDS', 'STEP_PROOF_LENGTH'],
  ...['STEP_NONCANONICAL', 'STEP_POW', 'STEP_MERKLE_W0', 'STEP_MERKLE_J', 'STEP_MERKLE_WT', 'STEP_MERKLE_S'],
  ...['STEP_MERKLE_D', 'STEP_MERKLE_L1', 'STEP_MERKLE_L2', 'STEP_MERKLE_L3', 'STEP_FINAL_CHECK'],
];
export const codeOf = new Map([
  ...codes.map((name) => [id(`${name}()`).slice(0, 10), name] as const),
  [id('SEAL_SELECTOR(bytes4)').slice(0, 10), 'SEAL_SELECTOR'],
  [id('SEAL_LENGTH(uint256)').slice(0, 10), 'SEAL_LENGTH'],
  [id('FACT_MISSING(bytes32)').slice(0, 10), 'FACT_MISSING'],
  [id('SPLIT_NONE(bytes32)').slice(0, 10), 'SPLIT_NONE'],
  [id('SPLIT_LATE(uint256)').slice(0, 10), 'SPLIT_LATE'],
  [id('SPLIT_REST()').slice(0, 10), 'SPLIT_REST'],
]);

export const artefact = (name: string): { abi: []; bytecode: string } =>
  JSON.parse(readFileSync(new URL(`../abi/${name}.json`, import.meta.url), 'utf8'));

/** Of contracts/test: script/artefacts.ts keeps it here. */
export const testArtefact = (name: string): { abi: []; bytecode: string } =>
  JSON.parse(readFileSync(new URL(`vectors/${name}.json`, import.meta.url), 'utf8'));

type Create = (name: string, args?: unknown[]) => Promise<Contract>;

type Relations = Readonly<Record<string, Contract['target']>>;

/** What the verifiers of step proofs ask, by name. */
export async function createRelations(create: Create): Promise<Relations> {
  const of = async (name: string, ...args: unknown[]) => [name, (await create(name, args)).target] as const;
  const segments = [await of('ZkSoftmaxRelation'), await of('ZkSquaredErrorRelation')];
  const [name, matmuls] = await of('ZkUnitMatmuls');
  const units = [await of('ZkUnitSoftmaxRelation', matmuls), await of('ZkUnitSquaredErrorRelation', matmuls)];
  return Object.fromEntries([...segments, ...units, [name, matmuls]]);
}

/** Of a verifier's constructor. */
export function verifierArguments(relations: Relations): unknown[] {
  const names = ['ZkSoftmaxRelation', 'ZkSquaredErrorRelation', 'ZkUnitSoftmaxRelation', 'ZkUnitSquaredErrorRelation'];
  return [names.map((name) => relations[name])];
}

export interface StepVerifierOnChain {
  readonly chain: JsonRpcProvider;
  readonly signer: HDNodeWallet;
  /** The verifier that is deployed, and contracts that it asks, by name. */
  readonly verifier: Contract;
  readonly relations: Relations;
  /** The code for a seal, or 'accepted', of the verifier that takes plans of any strength. */
  judge(fields: SealFields, digest: Uint8Array, seal?: string): Promise<string>;
  /** The same of the one that is deployed. */
  judgeStrictly(fields: SealFields, digest: Uint8Array): Promise<string>;
  stop(): Promise<void>;
}

export async function openStepVerifier(): Promise<StepVerifierOnChain> {
  const anvil = await startAnvil({ hardfork });
  const chain = connect(anvil.url, anvil.chainId, 25);
  const signer = HDNodeWallet.fromPhrase(testMnemonic).connect(chain);
  const create = async (name: string, args: unknown[] = [], from = artefact): Promise<Contract> => {
    const { abi, bytecode } = from(name);
    const contract = await new ContractFactory(abi, bytecode, signer).deploy(...args);
    await contract.waitForDeployment();
    return contract as Contract;
  };
  const relations = await createRelations(create);
  const asked = verifierArguments(relations);
  const verifier = await create('ZkStepVerifier', asked);
  const weak = await create('WeakStepVerifier', asked, testArtefact);
  const gas = `0x${transactionGasMax.toString(16)}`;
  const ask = ({ interface: of, target }: Contract, seal: string, digest: Uint8Array): Promise<string> => {
    const calldata = withLastBytes(of.encodeFunctionData('verify', ['0x', digest]), seal.slice(2));
    return ethCallOf({ url: anvil.url, codeOf }, target, calldata, gas);
  };
  return {
    ...{ chain, signer, verifier, relations },
    judge: (fields, digest, seal = encodeSeal(fields)) => ask(weak, seal, digest),
    judgeStrictly: (fields, digest) => ask(verifier, encodeSeal(fields), digest),
    async stop() {
      chain.destroy();
      await anvil.stop();
    },
  };
}

/** The TypeScript verifier's code, or 'accepted'. */
export function inTypeScript(plan: Plan, statement: StepProofStatement, proof: Uint8Array): string {
  try {
    runVerifier(plan, statement, new Transcript(), new ProofBytes(proof));
    return 'accepted';
  } catch (error) {
    if (error instanceof Rejection) return error.code;
    throw error;
  }
}
