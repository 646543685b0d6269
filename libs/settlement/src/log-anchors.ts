/** Checkpoints of transparency logs on chain (contracts/SPEC.md §18b): who anchored what, and a new one. */
import { createHash } from 'node:crypto';
import { Contract, ContractFactory, getCreateAddress, Interface, type Provider, type Signer } from 'ethers';
import type { TransactionRequest, TransactionResponse } from 'ethers';
import { CollateralError, fromHex, to0x } from '#attestation/base';
import logAnchors from '../../../contracts/abi/LogAnchors.json' with { type: 'json' };
import { chainFailure } from './failure.js';
import { checkFees, greatestFeePerGasWei } from './fees.js';
import { untilMined } from './transaction.js';

const abi = new Interface(logAnchors.abi);
/** Blocks a question: providers refuse longer ranges. */
const pageBlocks = 10_000;
/** How long a block is waited for that takes an anchor. */
const patienceMs = 600_000;

export interface LogAnchor {
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
  readonly block: number;
  /** 32 bytes, 0x-hexadecimal. */
  readonly transaction: string;
}

/** @returns its address @throws CollateralError CHAIN_FEES; as `chainFailure` */
export async function deployLogAnchors(
  signer: Signer,
  feePerGasMaxWei = greatestFeePerGasWei,
  feeSetting?: string,
): Promise<string> {
  return asked('the deployment of LogAnchors', async () => {
    const request = await new ContractFactory(abi, logAnchors.bytecode).getDeployTransaction();
    const sent = await send(signer, request, feePerGasMaxWei, feeSetting);
    await untilMined(sent.provider, sent, patienceMs);
    return getCreateAddress(sent);
  });
}

async function send(
  signer: Signer,
  request: TransactionRequest,
  feePerGasMaxWei: bigint,
  feeSetting?: string,
): Promise<TransactionResponse> {
  const whole = await signer.populateTransaction(request);
  checkFees(whole, feePerGasMaxWei, feeSetting);
  return signer.sendTransaction(whole);
}

/** The log's name as LogAnchors has it: its SHA-256. */
export function anchorOrigin(name: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(name).digest());
}

interface AnchorTerms {
  /** Of the account's transactions; absent: the next one. With it at most one transaction comes of however many tries. */
  readonly nonce?: number;
  /** Most that its gas may cost, in wei, without what an OP chain charges for its data besides; absent: no cap on the sum. */
  readonly feeMaxWei?: bigint | undefined;
  /** Most that one unit of gas may cost where there is no cap on the sum; absent: the highest of all kinds of chains. */
  readonly feePerGasMaxWei?: bigint | undefined;
  /** What raises either cap, as whoever runs this process has it. */
  readonly feeSetting?: string;
}

/**
 * @param origin  as `anchorOrigin` makes it
 * @returns the transaction, once it is mined
 * @throws Rejection ANCHOR_ORDER, ANCHOR_EMPTY, CHAIN_*; CollateralError CHAIN_FEES where blocks are too dear by now,
 *   CHAIN_NONCE where another transaction has the nonce, and where the chain does not answer
 */
export function anchorCheckpoint(
  signer: Signer,
  contract: string,
  { origin, size, root }: { readonly origin: Uint8Array; readonly size: number; readonly root: Uint8Array },
  { nonce, feeMaxWei, feePerGasMaxWei = greatestFeePerGasWei, feeSetting }: AnchorTerms = {},
): Promise<string> {
  return asked('anchor', async () => {
    const data = abi.encodeFunctionData('anchor', [to0x(origin), size, to0x(root)]);
    const request = { to: contract, data, ...(nonce !== undefined && { nonce }) };
    const sent =
      feeMaxWei === undefined
        ? await send(signer, request, feePerGasMaxWei, feeSetting)
        : await signer.sendTransaction({ ...request, ...(await feesWithin(signer, request, feeMaxWei, feeSetting)) });
    await untilMined(sent.provider, sent, patienceMs);
    return sent.hash;
  });
}

/** What the next block asks is held against the cap; what the transaction offers never costs more. */
async function feesWithin(
  signer: Signer,
  request: TransactionRequest,
  feeMaxWei: bigint,
  feeSetting = 'the most that an anchor may cost',
): Promise<TransactionRequest> {
  const provider = signer.provider!;
  const [estimate, fees, block] = await Promise.all([
    signer.estimateGas(request),
    provider.getFeeData(),
    provider.getBlock('latest'),
  ]);
  const gasLimit = (estimate * 6n) / 5n;
  const most = feeMaxWei / gasLimit;
  const maxPriorityFeePerGas = fees.maxPriorityFeePerGas ?? 0n;
  // A block's base fee is at most an eighth above that of the one before it.
  const due = ((block?.baseFeePerGas ?? 0n) * 9n) / 8n + maxPriorityFeePerGas;
  if (due > most) {
    throw new CollateralError('CHAIN_FEES', {
      expected: `an anchor for ${feeMaxWei} wei or less`,
      got: `${due * gasLimit} wei as blocks are now`,
      rule: 'contracts/SPEC.md §17',
      action: `wait for emptier blocks, or ask another endpoint; if the price is right, raise ${feeSetting}`,
    });
  }
  const suggested = fees.maxFeePerGas ?? due;
  return { gasLimit, maxPriorityFeePerGas, maxFeePerGas: suggested < most ? suggested : most };
}

/**
 * The nonce that an account's next transaction has.
 * @throws CollateralError CHAIN_NONCE where one waits that no block has taken, and where the chain does not answer
 */
export function settledNonce(provider: Provider, address: string): Promise<number> {
  return asked('reading the nonce of an account', async () => {
    const [mined, pending] = await Promise.all([
      provider.getTransactionCount(address, 'latest'),
      provider.getTransactionCount(address, 'pending'),
    ]);
    if (pending <= mined) return mined;
    throw new CollateralError('CHAIN_NONCE', {
      expected: `no transaction of ${address} under way`,
      got: `${pending - mined} that no block has taken`,
      rule: 'contracts/SPEC.md §18',
      action: 'wait for a block to take it, or replace it by a dearer one of this account',
    });
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
