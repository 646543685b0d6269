/** Reads the contract's events over JSON-RPC. */
import type { JsonRpcProvider, LogDescription } from 'ethers';
import { CollateralError } from '#attestation';
import { connect, errorAbi, chainFailure, settlementAbi } from '#libs/settlement';
import type { ChainConfig } from '../config.js';
import type { Block, EscrowEvent, EscrowReader } from './escrow-reader.js';

const timeoutMilliseconds = 10_000;

export class RpcEscrowReader implements EscrowReader {
  readonly contract: string;
  readonly #provider: JsonRpcProvider;

  constructor(private readonly chain: ChainConfig) {
    this.contract = `${chain.chainId}:${chain.contract}`;
    this.#provider = connect(chain.rpcUrl, chain.chainId);
  }

  headNumber(): Promise<number> {
    return this.read('eth_blockNumber', () => this.#provider.getBlockNumber());
  }

  async block(number: number): Promise<Block | null> {
    const block = await this.read('eth_getBlockByNumber', () => this.#provider.getBlock(number));
    return block?.hash == null ? null : { number, hash: block.hash };
  }

  async events(fromBlock: number, toBlock: number): Promise<EscrowEvent[]> {
    const filter = { address: this.chain.contract, fromBlock, toBlock };
    const logs = await this.read('eth_getLogs', () => this.#provider.getLogs(filter));
    return logs.flatMap((log) => {
      const event = settlementAbi.parseLog(log);
      const escrowId: unknown = event?.args.toObject()['job'];
      if (event === null || typeof escrowId !== 'string') return [];
      return {
        blockNumber: log.blockNumber,
        blockHash: log.blockHash,
        logIndex: log.index,
        transaction: log.transactionHash,
        escrowId,
        name: event.name,
        data: plain(event),
      };
    });
  }

  close(): void {
    this.#provider.destroy();
  }

  private async read<T>(call: string, work: () => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(unreachable(call)), timeoutMilliseconds);
    });
    try {
      return await Promise.race([work(), late]);
    } catch (error) {
      throw chainFailure(error, call, errorAbi);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Amounts as decimal text, the rest as ethers gives it; addresses in lower case. */
function plain(event: LogDescription): Record<string, unknown> {
  const entries = Object.entries(event.args.toObject());
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (typeof value === 'bigint') return [name, value.toString()];
      return [name, typeof value === 'string' ? value.toLowerCase() : value];
    }),
  );
}

function unreachable(call: string): CollateralError {
  return new CollateralError('CHAIN_UNREACHABLE', {
    expected: `an answer to ${call} within ${timeoutMilliseconds / 1000} s`,
    got: 'none',
    rule: 'control-plane README, settlement',
    action: 'Check VERITRAIN_RPC_URL; the control plane retries.',
  });
}
