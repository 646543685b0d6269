/** One contract's events as an indexer reads them; what it is told may be another branch at the next call. */
import { CollateralError } from '#attestation/base';
import { connect } from './chain.js';
import { errorAbi } from './contracts.js';
import { readEvent, type EscrowEvent } from './events.js';
import { chainFailure } from './failure.js';

export interface BlockRef {
  readonly number: number;
  readonly hash: string;
}

export interface ChainReader {
  /** Chain id and contract, to tell positions apart. */
  readonly contract: string;
  /** The newest block. @throws CollateralError CHAIN_UNREACHABLE, as all below */
  head(): Promise<BlockRef>;
  /** null when the chain has no such block. */
  block(number: number): Promise<BlockRef | null>;
  /** In the chain's order. */
  events(fromBlock: number, toBlock: number): Promise<EscrowEvent[]>;
  close(): void;
}

interface ChainReaderOptions {
  readonly rpcUrl: string;
  readonly chainId: number;
  /** Address of the escrow contract. */
  readonly contract: string;
  readonly answerWithinMs?: number;
}

const pollingMs = 4000;

export function openChainReader({
  rpcUrl,
  chainId,
  contract,
  answerWithinMs = 10_000,
}: ChainReaderOptions): ChainReader {
  const provider = connect(rpcUrl, chainId, pollingMs, answerWithinMs);
  const read = async <T>(call: string, work: () => Promise<T>): Promise<T> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(unanswered(`an answer to ${call} within ${answerWithinMs / 1000} s`)),
        answerWithinMs,
      );
    });
    try {
      return await Promise.race([work(), late]);
    } catch (error) {
      throw chainFailure(error, call, errorAbi);
    } finally {
      clearTimeout(timer);
    }
  };
  const block = async (at: number | 'latest'): Promise<BlockRef | null> => {
    const found = await read('eth_getBlockByNumber', () => provider.getBlock(at));
    return found?.hash == null ? null : { number: found.number, hash: found.hash };
  };
  return {
    contract: `${chainId}:${contract.toLowerCase()}`,
    async head() {
      const newest = await block('latest');
      if (newest === null) throw unanswered('the latest block');
      return newest;
    },
    block,
    async events(fromBlock, toBlock) {
      const logs = await read('eth_getLogs', () => provider.getLogs({ address: contract, fromBlock, toBlock }));
      const events = logs.flatMap((log) => readEvent(log) ?? []);
      return events.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
    },
    close: () => provider.destroy(),
  };
}

function unanswered(expected: string): CollateralError {
  return new CollateralError('CHAIN_UNREACHABLE', {
    expected,
    got: 'none',
    rule: 'contracts/SPEC.md §18',
    action: 'check the endpoint; reading goes on when it answers',
  });
}
