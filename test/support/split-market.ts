/** A market whose proofs in two transactions may be of any strength, so that they are made in a second. */
import { readFileSync } from 'node:fs';
import { Contract, ContractFactory, type InterfaceAbi } from 'ethers';
import { SettlementClient, splitSelector, type Deployment, type SplitSeal } from '#libs/settlement';
import type { Manifest } from '#libs/step';
import type { Plan } from '#libs/zk/verifier';
import { testProfile } from '../../libs/zk/src/testing/segments.js';
import { derivePlanUnchecked } from '../../libs/zk/src/relation/plan.js';
import { artefacts } from '../../libs/settlement/src/contracts.js';
import { openMarket, walletOf, type Market, type Role } from './escrow-market.js';

const level = { k: 2, logBlowup: 3, multiplicity: 2, queries: 5, grind: 2, grindFold: 1 };
const threeLevels = { ...testProfile, inputsFirst: true, deeper: [level, { ...level, k: 1 }] } as const;

/** Far below 100 bits, in three levels: nothing but the weak head takes it. */
export function weakPlan(manifest: Manifest): Plan {
  return derivePlanUnchecked(manifest, threeLevels, 'separate');
}

export interface SplitMarket extends Market {
  readonly verifier: Contract;
  /** A process of this account that knows nothing of what others sent. */
  process(role: Role, deployment?: Deployment): SettlementClient;
  /** Sends one of the two parts alone, as a process that was killed behind it. */
  part(role: Role, name: 'begin' | 'finish', seal: SplitSeal): Promise<void>;
  /** Transactions of this account in blocks. */
  sent(role: Role): Promise<number>;
}

export async function openSplitMarket(): Promise<SplitMarket> {
  const market = await openMarket({ extensions: { splitProofs: false } });
  const { chain } = market;
  const deployer = walletOf('deployer').connect(chain);
  const create = async (abi: InterfaceAbi, bytecode: string, args: readonly unknown[]): Promise<string> => {
    const contract = await new ContractFactory(abi, bytecode, deployer).deploy(...args);
    await contract.waitForDeployment();
    return contract.getAddress();
  };
  const { zkSoftmaxRelation, zkSquaredErrorRelation, extensions } = market.deployment;
  const weak = new URL('../../contracts/test/vectors/WeakProofHead.json', import.meta.url);
  const { abi, bytecode } = JSON.parse(readFileSync(weak, 'utf8')) as { abi: []; bytecode: string };
  const head = await create(abi, bytecode, [
    [
      zkSoftmaxRelation,
      zkSquaredErrorRelation,
      extensions!.zkUnitSoftmaxRelation!.address,
      extensions!.zkUnitSquaredErrorRelation!.address,
    ],
  ]);
  const split = artefacts.zkSplitVerifier;
  const address = await create(split.abi, split.bytecode, [head]);
  const router = new Contract(market.deployment.router, artefacts.router.abi, deployer);
  await (await router.getFunction('add')(splitSelector, address)).wait();
  const zkSplitVerifier = { address, codeHash: `0x${'00'.repeat(32)}` };
  const deployment = { ...market.deployment, extensions: { ...extensions, zkSplitVerifier } };
  const process = (role: Role, of: Deployment = deployment): SettlementClient =>
    new SettlementClient(of, walletOf(role).connect(chain));
  return {
    ...{ ...market, deployment, process, verifier: new Contract(address, split.abi, chain) },
    async part(role, name, { digest, head: beginning, rest, openings }) {
      const args = name === 'begin' ? [beginning, digest] : [digest, rest, openings];
      const contract = new Contract(address, split.abi, walletOf(role).connect(chain));
      await (await contract.getFunction(name)(...args)).wait();
    },
    sent: (role) => chain.getTransactionCount(walletOf(role).address, 'latest'),
  };
}
