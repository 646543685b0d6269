/**
 * Proofs that a contract verifies in two transactions, and the fact that these leave (contracts/SPEC.md §11). Nothing is kept
 * here: the chain is asked how far a proof is, so whoever was killed between two transactions goes on where it was.
 */
import { Contract, Interface, type ContractTransaction } from 'ethers';
import { ConfigurationError, Rejection, to0x, type Digest } from '#attestation/base';
import type { Calls } from './calls.js';
import { artefacts } from './contracts.js';
import { logsOf } from './logs.js';
import { untilTaken } from './transaction.js';
import { splitSelector } from './zk-selector.js';

const splitAbi = new Interface(artefacts.zkSplitVerifier.abi);

export interface SplitSeal {
  /** EIP-712 digest of the Segment that is proved. */
  readonly digest: Digest;
  /** Seal of the first transaction: selector and StepSeal, whose proof lacks leaves and siblings of the levels. */
  readonly head: Uint8Array;
  /** What the first transaction leaves open. */
  readonly rest: Uint8Array;
  /** Leaves and siblings of the levels. */
  readonly openings: Uint8Array;
}

/** Bytes that a verifier judges in the call that needs them, or what makes a fact beforehand. */
export type StepSeal = Uint8Array | SplitSeal;

export class SplitProofs {
  constructor(private readonly calls: Calls) {}

  /**
   * Proves the fact that a call needs, unless it is there, or the contract would refuse the call for another reason: then
   * nothing is sent.
   *
   * @param ask  the call with a seal, which changes nothing
   * @returns the seal to make the call with
   * @throws Rejection of the contract; ConfigurationError CHAIN_SPLIT; CollateralError CHAIN_STUCK
   */
  async sealFor(seal: StepSeal, ask: (seal: Uint8Array) => Promise<unknown>): Promise<Uint8Array> {
    if (seal instanceof Uint8Array) return seal;
    if (!(await this.#isTaken('discharge', () => ask(splitSelector), ['FACT_MISSING']))) await this.#prove(seal);
    return splitSelector;
  }

  /** Hashes of the transactions in which parts of proofs of these statements were taken. */
  async sentFor(digests: readonly Digest[]): Promise<readonly string[]> {
    const { deployment, provider } = this.calls;
    const address = deployment.extensions?.zkSplitVerifier?.address;
    if (address === undefined || digests.length === 0) return [];
    const events = ['ProofBegun', 'FactProved'].map((name) => splitAbi.getEvent(name)!.topicHash);
    const filter = { address, topics: [events, digests.map((digest) => to0x(digest))] };
    const logs = await this.calls.read('eth_getLogs', async () =>
      logsOf(provider, filter, deployment.fromBlock, await provider.getBlockNumber()),
    );
    return logs.map(({ transactionHash }) => transactionHash);
  }

  async #prove(seal: SplitSeal): Promise<void> {
    const { digest, head, rest, openings } = seal;
    if (!(await this.#isBegun(seal))) {
      // A process before this one may have begun, in a transaction that no block has yet.
      await untilTaken(this.calls.signer);
      if (!(await this.#isBegun(seal))) await this.#sendUnlessProved('begin', digest, [head, digest]);
    }
    await this.#sendUnlessProved('finish', digest, [digest, rest, openings]);
  }

  /** By this account, and within its day. */
  #isBegun({ digest, rest, openings }: SplitSeal): Promise<boolean> {
    const ask = (): Promise<unknown> => this.#contract.getFunction('finish').staticCall(digest, rest, openings);
    return this.#isTaken('finish', ask, ['SPLIT_NONE', 'SPLIT_LATE']);
  }

  /** Anybody's fact will do. */
  async #sendUnlessProved(name: 'begin' | 'finish', digest: Digest, args: readonly unknown[]): Promise<void> {
    const isProved = (): Promise<boolean> =>
      this.calls.read('facts', () => this.#contract.getFunction('facts')(digest) as Promise<boolean>);
    if (await isProved()) return;
    const populate = (): Promise<ContractTransaction> => this.#contract.getFunction(name).populateTransaction(...args);
    try {
      await this.calls.send(name, populate);
    } catch (error) {
      if (!(await isProved())) throw error;
    }
  }

  /** @param not  codes of the contract that say no; any other is thrown */
  async #isTaken(name: string, ask: () => Promise<unknown>, not: readonly string[]): Promise<boolean> {
    try {
      await this.calls.read(name, ask);
      return true;
    } catch (error) {
      if (error instanceof Rejection && not.includes(error.code)) return false;
      throw error;
    }
  }

  get #contract(): Contract {
    const { deployment, signer } = this.calls;
    const address = deployment.extensions?.zkSplitVerifier?.address;
    if (address !== undefined) return new Contract(address, splitAbi, signer);
    throw new ConfigurationError('CHAIN_SPLIT', {
      expected: 'a set of contracts that verifies proofs in two transactions',
      got: `none in that of ${deployment.settlement}`,
      rule: 'contracts/SPEC.md §11',
      action: 'name the deployment file of a set with the extension zkSplitVerifier',
    });
  }
}
