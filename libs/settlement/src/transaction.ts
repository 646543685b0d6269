/**
 * From a request to a confirmed transaction. It is signed before it is sent, so its hash is known whatever becomes of
 * the answer: sent again it is the same transaction, never a second one. It is priced again when blocks pass it by, and
 * sent again when a reorganisation or a restart of the node forgot it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  isError,
  Transaction,
  type Provider,
  type Signer,
  type TransactionReceipt,
  type TransactionRequest,
  type TransactionResponse,
} from 'ethers';
import { CollateralError, Rejection } from '#attestation/base';
import { isTransient } from './failure.js';
import { inTurn } from './turn.js';

export interface SubmitOptions {
  /** Blocks that must hold the transaction, its own among them. */
  readonly confirmations: number;
  /** Milliseconds without a receipt after which the same nonce is sent again for a higher fee. */
  readonly repriceAfterMs: number;
  /** How often that may happen. */
  readonly repricings: number;
  /** Most that one unit of gas may cost, in wei; absent: whatever the node suggests. */
  readonly feePerGasMaxWei?: bigint | undefined;
}

/** Gas of one transaction, EIP-7825. */
const gasMax = 16_777_216n;
/** How often a transaction is prepared anew because another took its nonce, or blocks became dearer. */
const attemptsMax = 20;
/** How long a chain may be away while a transaction is waited for. */
const awayMaxMs = 60_000;

/** What was signed for one nonce: one transaction, and the same for higher fees. */
interface Sent {
  /** Chain and address. */
  readonly account: string;
  readonly from: string;
  readonly nonce: number;
  readonly versions: { readonly hash: string; readonly signed: string; readonly transaction: Transaction }[];
}

/** What is needed of it once it is on its way. */
interface Mined extends Pick<Sent, 'from' | 'nonce'> {
  readonly versions: readonly {
    readonly hash: string;
    readonly transaction: Pick<Transaction, 'to' | 'data' | 'value'>;
  }[];
}

/**
 * @returns the receipt of whichever version a block took
 * @throws CollateralError CHAIN_STUCK, CHAIN_REPLACED, CHAIN_FEES, CHAIN_UNREACHABLE; errors of ethers
 */
export async function submit(
  signer: Signer,
  chainId: number,
  request: TransactionRequest,
  options: SubmitOptions,
): Promise<TransactionReceipt> {
  const from = await signer.getAddress();
  const account = `${chainId}:${from}`;
  const sent = await inTurn(account, async () => {
    const next = await sendNext(signer, account, from, request, options);
    waiting.set(account, (waiting.get(account) ?? new Set()).add(next.nonce));
    return next;
  });
  try {
    return await untilConfirmed(signer, sent, options);
  } finally {
    waiting.get(account)!.delete(sent.nonce);
  }
}

/**
 * Until blocks have what was sent for an account so far, by whichever process, or nodes have forgotten it.
 *
 * @throws CollateralError CHAIN_STUCK
 */
export async function untilTaken(signer: Signer): Promise<void> {
  const provider = signer.provider!;
  const from = await signer.getAddress();
  const count = (block: 'latest' | 'pending'): Promise<number> => provider.getTransactionCount(from, block);
  const [sent, began] = [await count('pending'), performance.now()];
  for (;;) {
    const taken = await count('latest');
    if (taken >= Math.min(sent, await count('pending'))) return;
    if (performance.now() - began > awayMaxMs) throw stuck({ from, nonce: taken }, 'none within a minute');
    await sleep(pollingOf(provider));
  }
}

/** Nonces of this process that no block has taken yet: a node that lost a transaction would give its nonce out again. */
const waiting = new Map<string, Set<number>>();

const isWaiting = (account: string, nonce: number): boolean => waiting.get(account)?.has(nonce) === true;

/** Below those that wait where a reorganisation took back what they stand on. */
function nextNonce(account: string, pending: number): number {
  let nonce = pending;
  while (isWaiting(account, nonce)) nonce += 1;
  return nonce;
}

/** Several processes may send for one account: who came second takes the next nonce. */
async function sendNext(
  signer: Signer,
  account: string,
  from: string,
  request: TransactionRequest,
  { feePerGasMaxWei }: SubmitOptions,
): Promise<Sent> {
  for (let attempt = 0; ; attempt++) {
    const nonce = nextNonce(account, await signer.provider!.getTransactionCount(from, 'pending'));
    const { from: _, ...prepared } = await signer.populateTransaction({ ...request, from, nonce });
    const gasLimit = BigInt(prepared.gasLimit!);
    const transaction = Transaction.from({
      ...prepared,
      to: prepared.to as string | null,
      gasLimit: gasLimit >= gasMax ? gasLimit : min((gasLimit * 6n) / 5n, gasMax),
    } as Parameters<typeof Transaction.from>[0]);
    checkFee(transaction, feePerGasMaxWei);
    const version = await signVersion(signer, transaction);
    try {
      await broadcast(signer.provider!, version.signed);
      return { account, from, nonce, versions: [version] };
    } catch (error) {
      if (!isTaken(error) && !isTooCheap(error)) throw error;
      // The answer to the first attempt may have been lost: then it is this transaction that took the nonce.
      const isOwn = (await signer.provider!.getTransaction(version.hash)) !== null;
      if (isOwn) return { account, from, nonce, versions: [version] };
      if (attempt === attemptsMax) throw error;
      await sleep(pollingOf(signer.provider!));
    }
  }
}

async function untilConfirmed(signer: Signer, sent: Sent, options: SubmitOptions): Promise<TransactionReceipt> {
  const provider = signer.provider!;
  const pollingMs = pollingOf(provider);
  let [pricedAt, heardAt] = [performance.now(), performance.now()];
  for (;;) {
    try {
      const receipt = await receiptOf(provider, sent);
      if (receipt !== null) {
        const head = await provider.getBlockNumber();
        if (head - receipt.blockNumber + 1 >= options.confirmations) return succeeded(receipt, sent, provider);
      } else if (performance.now() - pricedAt > options.repriceAfterMs) {
        const { length } = sent.versions;
        if (length > options.repricings) throw stuck(sent, `none after ${length - 1} repricings`);
        await checkStanding(provider, sent);
        await reprice(signer, sent, options);
        pricedAt = performance.now();
      } else {
        await sendAgain(provider, sent);
      }
      heardAt = performance.now();
    } catch (error) {
      if (!isTransient(error) || performance.now() - heardAt > awayMaxMs) throw error;
    }
    await sleep(pollingMs);
  }
}

/**
 * Until a block has a transaction that was sent as it is, for no higher fee. Every question is awaited: the library's own
 * waiting asks at each block and drops what fails, which ends a process whose chain goes away.
 *
 * @throws CollateralError CHAIN_STUCK, CHAIN_REPLACED; errors of ethers, that of a transaction which failed among them
 */
export async function untilMined(provider: Provider, sent: TransactionResponse, patienceMs: number): Promise<void> {
  const began = performance.now();
  const versions = [{ hash: sent.hash, transaction: sent }];
  for (;;) {
    const receipt = await receiptOf(provider, { ...sent, versions });
    if (receipt !== null) return void (await succeeded(receipt, { ...sent, versions }, provider));
    if (performance.now() - began > patienceMs) throw stuck(sent, `none within ${patienceMs / 1000} s`);
    await sleep(pollingOf(provider));
  }
}

async function receiptOf(provider: Provider, { from, nonce, versions }: Mined): Promise<TransactionReceipt | null> {
  const find = async (): Promise<TransactionReceipt | null> => {
    for (const { hash } of versions) {
      const receipt = await provider.getTransactionReceipt(hash);
      if (receipt !== null) return receipt;
    }
    return null;
  };
  const found = await find();
  if (found !== null || (await provider.getTransactionCount(from, 'latest')) <= nonce) return found;
  // A block took this nonce, of one of the versions or of another transaction.
  const late = await find();
  if (late !== null) return late;
  throw replaced({ from, nonce }, 'another transaction with its nonce');
}

/** Checks that the chain still has the account's earlier transactions. @throws CollateralError where it dropped one */
async function checkStanding(provider: Provider, sent: Sent): Promise<void> {
  const next = await provider.getTransactionCount(sent.from, 'pending');
  if (next < sent.nonce && !isWaiting(sent.account, next)) throw replaced(sent, `a branch without transaction ${next}`);
}

/** A node that forgot the transaction is given the same bytes. */
async function sendAgain(provider: Provider, { versions }: Sent): Promise<void> {
  const { hash, signed } = versions.at(-1)!;
  if ((await provider.getTransaction(hash)) !== null) return;
  try {
    await broadcast(provider, signed);
  } catch (error) {
    if (!isTaken(error) && !isTooCheap(error)) throw error;
  }
}

/** The same transaction for a quarter more: nodes refuse a replacement that pays less than a tenth more. */
async function reprice(signer: Signer, { versions }: Sent, { feePerGasMaxWei }: SubmitOptions): Promise<void> {
  const transaction = versions.at(-1)!.transaction.clone();
  const raised = (fee: bigint | null) => ((fee ?? 0n) * 5n) / 4n + 1n;
  transaction.signature = null;
  transaction.maxFeePerGas = raised(transaction.maxFeePerGas);
  transaction.maxPriorityFeePerGas = raised(transaction.maxPriorityFeePerGas);
  checkFee(transaction, feePerGasMaxWei);
  const version = await signVersion(signer, transaction);
  try {
    await broadcast(signer.provider!, version.signed);
    versions.push(version);
  } catch (error) {
    // The next version goes on from this one's fee.
    if (isTooCheap(error)) versions.push(version);
    // Mined or replaced meanwhile: there is a receipt to be found.
    else if (!isTaken(error)) throw error;
  }
}

async function signVersion(signer: Signer, transaction: Transaction): Promise<Sent['versions'][number]> {
  const signed = await signer.signTransaction(transaction);
  const whole = Transaction.from(signed);
  return { hash: whole.hash!, signed, transaction: whole };
}

/** A lost answer does no harm: the same bytes, sent again, are the same transaction. */
async function broadcast(provider: Provider, signed: string): Promise<void> {
  try {
    await provider.broadcastTransaction(signed);
  } catch (error) {
    const inner = (error as { error?: { message?: unknown } } | null)?.error?.message;
    if (typeof inner !== 'string' || !/already (known|imported)/i.test(inner)) throw error;
  }
}

/** Blocks have become dearer since it was priced. */
function isTooCheap(error: unknown): boolean {
  const inner = (error as { error?: { message?: unknown } } | null)?.error?.message;
  return typeof inner === 'string' && /less than block base fee/i.test(inner);
}

function pollingOf(provider: Provider): number {
  return (provider as { pollingInterval?: number }).pollingInterval ?? 1000;
}

/** Another transaction, or an earlier version of this one, has the nonce. */
function isTaken(error: unknown): boolean {
  return isError(error, 'NONCE_EXPIRED') || isError(error, 'REPLACEMENT_UNDERPRICED');
}

/** A transaction that a block took may have failed: asked again as a call, the contract says why. */
async function succeeded(receipt: TransactionReceipt, sent: Mined, provider: Provider): Promise<TransactionReceipt> {
  if (receipt.status !== 0) return receipt;
  const { to, data, value } = sent.versions[0]!.transaction;
  await provider.call({ to, data, value, from: sent.from, blockTag: receipt.blockNumber });
  throw new Rejection('CHAIN_REVERT', {
    expected: `transaction ${receipt.hash} to succeed`,
    got: 'one that failed where it stood in its block',
    rule: 'contracts/SPEC.md §6',
  });
}

function checkFee({ maxFeePerGas, gasPrice }: Transaction, most: bigint | undefined): void {
  const fee = maxFeePerGas ?? gasPrice ?? 0n;
  if (most === undefined || fee <= most) return;
  throw new CollateralError('CHAIN_FEES', {
    expected: `gas at ${most} wei or less`,
    got: `${fee} wei`,
    rule: 'contracts/SPEC.md §17',
    action: 'wait for emptier blocks, or allow a higher fee',
  });
}

function replaced({ from, nonce }: Pick<Sent, 'from' | 'nonce'>, got: string): CollateralError {
  return new CollateralError('CHAIN_REPLACED', {
    expected: `a receipt for transaction ${nonce} of ${from}`,
    got,
    rule: 'contracts/SPEC.md §18a',
    action: 'try again: what was done is not done twice',
  });
}

function stuck({ from, nonce }: Pick<Sent, 'from' | 'nonce'>, got: string): CollateralError {
  return new CollateralError('CHAIN_STUCK', {
    expected: `a receipt for transaction ${nonce} of ${from}`,
    got,
    rule: 'contracts/SPEC.md §18',
    action: 'try again when blocks are less full',
  });
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
