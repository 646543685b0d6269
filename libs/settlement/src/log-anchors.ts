/** Checkpoints of transparency logs on chain (contracts/SPEC.md §18b): who anchored what, and a new one. */
import { createHash } from 'node:crypto';
import { Contract, ContractFactory, Interface, type Provider, type Signer } from 'ethers';
import { fromHex, to0x } from '#attestation/base';
import logAnchors from '../../../contracts/abi/LogAnchors.json' with { type: 'json' };
import { chainFailure } from './failure.js';

const abi = new Interface(logAnchors.abi);
/** Blocks a question: providers refuse longer ranges. */
const pageBlocks = 10_000;

export interface LogAnchor {
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
  readonly block: number;
  /** 32 bytes, 0x-hexadecimal. */
  readonly transaction: string;
}

/** @returns its address @throws as `chainFailure` */
export async function deployLogAnchors(signer: Signer): Promise<string> {
  return asked('the deployment of LogAnchors', async () => {
    const contract = await new ContractFactory(abi, logAnchors.bytecode, signer).deploy();
    await contract.waitForDeployment();
    return contract.getAddress();
  });
}

/** The log's name as LogAnchors has it: its SHA-256. */
export function anchorOrigin(name: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(name).digest());
}

/**
 * @param origin  as `anchorOrigin` makes it
 * @returns the transaction, once it is mined
 * @throws Rejection ANCHOR_ORDER, ANCHOR_EMPTY, CHAIN_*; CollateralError where the chain does not answer
 */
export function anchorCheckpoint(
  signer: Signer,
  contract: string,
  { origin, size, root }: { readonly origin: Uint8Array; readonly size: number; readonly root: Uint8Array },
): Promise<string> {
  return asked('anchor', async () => {
    const anchors = new Contract(contract, abi, signer);
    const sent = await anchors.getFunction('anchor').send(to0x(origin), size, to0x(root));
    await sent.wait();
    return sent.hash;
  });
}

/** The newest of an account and a log; size 0: none. `time` is of the block, unix seconds. */
export function newestLogAnchor(
  provider: Provider,
  contract: string,
  { origin, sender }: { readonly origin: Uint8Array; readonly sender: string },
): Promise<{ readonly size: number; readonly time: number }> {
  return asked('reading the newest anchor', async () => {
    const anchors = new Contract(contract, abi, provider);
    const [size, time] = (await anchors.getFunction('newest').staticCall(sender, to0x(origin))) as [bigint, bigint];
    return { size: Number(size), time: Number(time) };
  });
}

/** Every checkpoint that an account anchored of a log, the oldest first. @param sender  20 bytes, 0x-hexadecimal */
export async function readLogAnchors(
  provider: Provider,
  contract: string,
  {
    origin,
    sender,
    fromBlock = 0,
  }: { readonly origin: Uint8Array; readonly sender: string; readonly fromBlock?: number },
): Promise<LogAnchor[]> {
  return asked('reading anchors', async () => {
    const topics = abi.encodeFilterTopics('Anchored', [sender, to0x(origin)]);
    const newest = await provider.getBlockNumber();
    const found: LogAnchor[] = [];
    for (let from = fromBlock; from <= newest; from += pageBlocks) {
      const range = { fromBlock: from, toBlock: Math.min(newest, from + pageBlocks - 1) };
      for (const { data, topics: shown, blockNumber, transactionHash } of await provider.getLogs({
        address: contract,
        topics,
        ...range,
      })) {
        const [, , size, root] = abi.decodeEventLog('Anchored', data, shown) as unknown as [
          string,
          string,
          bigint,
          string,
        ];
        found.push({ size: Number(size), root: fromHex(root), block: blockNumber, transaction: transactionHash });
      }
    }
    return found;
  });
}

async function asked<T>(call: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw chainFailure(error, call, abi);
  }
}
