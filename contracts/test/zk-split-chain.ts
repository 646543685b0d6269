/** Proofs in two parts on a chain of their own: ZkSplitVerifier over the head that takes plans of any strength. */
import { Contract, ContractFactory, HDNodeWallet, type JsonRpcProvider, type TransactionReceipt } from 'ethers';
import { connect, startAnvil, testMnemonic } from '#libs/settlement';
import type { SplitProof } from '#libs/zk/verifier';
import { splitProof } from '#libs/zk/verifier';
import {
  artefact,
  codeOf,
  createRelations,
  hardfork,
  testArtefact,
  transactionGasMax,
  verifierArguments,
} from './zk-chain.js';
import { encodeSeal, splitSelector, type SealedSegment } from './zk-seal.js';

type Name = 'strict' | 'weak' | 'blind' | 'loose';

export interface SplitVerifiers {
  readonly chain: JsonRpcProvider;
  readonly contracts: Readonly<Record<Name, Contract>>;
  /** The code of a refusal, or the receipt. @param account  of the test mnemonic, 0 or 1 */
  send(of: Name, name: string, args: readonly unknown[], account?: number): Promise<string | TransactionReceipt>;
  stop(): Promise<void>;
}

export interface SplitSegment extends SealedSegment {
  readonly parts: SplitProof;
}

export function splitSegment(sealed: SealedSegment): SplitSegment {
  return { ...sealed, parts: splitProof(sealed.plan, sealed.statement, sealed.fields.proof) };
}

/** Arguments of `begin`. */
export function beginning({ fields, digest }: SealedSegment, head: Uint8Array, of = splitSelector): readonly unknown[] {
  return [encodeSeal({ ...fields, proof: head }, of), digest];
}

export async function openSplitVerifiers(): Promise<SplitVerifiers> {
  const anvil = await startAnvil({ hardfork });
  const chain = connect(anvil.url, anvil.chainId, 25);
  const signers = [0, 1].map((k) => HDNodeWallet.fromPhrase(testMnemonic, '', `m/44'/60'/0'/0/${k}`).connect(chain));
  const create = async (name: string, args: unknown[] = [], from = artefact): Promise<Contract> => {
    const { abi, bytecode } = from(name);
    const contract = await new ContractFactory(abi, bytecode, signers[0]).deploy(...args);
    await contract.waitForDeployment();
    return contract as Contract;
  };
  const asked = verifierArguments(await createRelations(create));
  const [strictHead, weakHead] = [
    (await create('ZkProofHead', asked)).target,
    (await create('WeakProofHead', asked, testArtefact)).target,
  ];
  const contracts = {
    strict: await create('ZkSplitVerifier', [strictHead]),
    weak: await create('ZkSplitVerifier', [weakHead]),
    blind: await create('BlindSplitVerifier', [weakHead], testArtefact),
    loose: await create('LooseSplitVerifier', [weakHead], testArtefact),
  };
  return {
    ...{ chain, contracts },
    async send(of, name, args, account = 0) {
      const { target, interface: abi } = contracts[of];
      const request = { to: target, data: abi.encodeFunctionData(name, args), gasLimit: transactionGasMax };
      try {
        await chain.call({ ...request, from: signers[account]!.address });
      } catch (error) {
        const { data, message } = error as { data?: string; message: string };
        return codeOf.get(data?.slice(0, 10) ?? '') ?? message;
      }
      if (abi.getFunction(name)!.stateMutability === 'view') return 'accepted';
      const receipt = await (await signers[account]!.sendTransaction(request)).wait();
      return receipt!;
    },
    async stop() {
      chain.destroy();
      await anvil.stop();
    },
  };
}
