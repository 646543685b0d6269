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
import type { ChainKind } from './chain-kinds.js';
import { isTransient, outOfGas, wordsOf } from './failure.js';
import { checkFees, feeCapOf } from './fees.js';
import { Suspicion } from './lag.js';
import { signNew, signVersion, type Signed } from './signing.js';
import { inTurn } from './turn.js';

export interface SubmitOptions {
  /** Blocks that must hold the transaction, its own among them. */
  readonly confirmations: number;
  /** Milliseconds without a receipt after which the same nonce is sent again for a higher fee. */
  readonly repriceAfterMs: number;
  /** How often that may happen. */
  readonly repricings: number;
  /** Most that one unit of gas may cost, in wei. */
  readonly feePerGasMaxWei: bigint;
}

/** What is not named is as the kind of the chain has it. */
export interface SubmitChoice extends Partial<Omit<SubmitOptions, 'feePerGasMaxWei'>> {
  readonly feePerGasMaxWei?: bigint | undefined;
}

export function submitOptions(kind: ChainKind, choice: SubmitChoice = {}): SubmitOptions {
  const feePerGasMaxWei = feeCapOf(kind, choice.feePerGasMaxWei);
  return { confirmations: 1, repriceAfterMs: 60_000, repricings: 5, ...choice, feePerGasMaxWei };
}

/** How often a transaction is prepared anew because another took its nonce, or blocks became dearer. */
const attemptsMax = 20;
/** How often a transaction is looked for whose sending ended in an error that says nothing certain. */
const looksAfterSending = 5;
/** How long a chain may be away while a transaction is waited for. */
const awayMaxMs = 60_000;

const replacedCode = 'CHAIN_REPLACED';

/** What was signed for one nonce: one transaction, and the same for higher fees. */
interface Sent {
  /** Chain and address. */
  readonly account: string;
  readonly from: string;
  readonly nonce: number;
  readonly versions: Signed[];
}

/** What is needed of it once it is on its way. */
interface Mined extends Pick<Sent, 'from' | 'nonce'> {
  readonly versions: readonly {
    readonly hash: string;
    readonly transaction: Pick<Transaction, 'to' | 'data' | 'value' | 'gasLimit'>;
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
  const sent = await inTurn(account, async () => onItsWay(await sendNext(signer, account, from, request, options)));
  return untilDone(signer, sent, options);
}

/** @returns undefined: nothing is to be sent */
export type Decide = (block: number) => Promise<TransactionRequest | undefined>;

/**
 * For what the contract would do twice. It is decided by the state of a block and has the nonce that the account has in
 * that state, so blocks take one of all that was decided there, by whichever process, also by one that was killed: where
 * another took the nonce, it is decided again.
 *
 * @throws CollateralError CHAIN_STUCK, CHAIN_REPLACED, CHAIN_FEES, CHAIN_UNREACHABLE; errors of ethers; what `decide` throws
 */
export async function submitAlone(
  signer: Signer,
  chainId: number,
  decide: Decide,
  options: SubmitOptions,
): Promise<TransactionReceipt | undefined> {
  const from = await signer.getAddress();
  const account = `${chainId}:${from}`;
  for (let attempt = 0; ; attempt++) {
    await untilTaken(signer);
    try {
      const sent = await inTurn(account, () => sendAlone(signer, account, from, decide, options));
      return sent && (await untilDone(signer, sent, options));
    } catch (error) {
      const isAnothers = isTaken(error) || (error as { code?: unknown }).code === replacedCode;
      if (!(isAnothers || isTooCheap(error)) || attempt === attemptsMax) throw error;
    }
    await sleep(pollingOf(signer.provider!));
  }
}

/** @throws CollateralError CHAIN_REPLACED where something else of the account is on its way */
async function sendAlone(
  signer: Signer,
  account: string,
  from: string,
  decide: Decide,
  { feePerGasMaxWei }: SubmitOptions,
): Promise<Sent | undefined> {
  const provider = signer.provider!;
  const block = await provider.getBlockNumber();
  const nonce = await provider.getTransactionCount(from, block);
  const isBusy = isWaiting(account, nonce) || (await provider.getTransactionCount(from, 'pending')) > nonce;
  if (isBusy) throw replaced({ from, nonce }, 'another transaction on its way');
  const request = await decide(block);
  if (request === undefined) return undefined;
  const version = await signNew(signer, { ...request, from, nonce }, feePerGasMaxWei);
  await broadcast(provider, version);
  return onItsWay({ account, from, nonce, versions: [version] });
}

function onItsWay(sent: Sent): Sent {
  waiting.set(sent.account, (waiting.get(sent.account) ?? new Set()).add(sent.nonce));
  return sent;
}

async function untilDone(signer: Signer, sent: Sent, options: SubmitOptions): Promise<TransactionReceipt> {
  try {
    return await untilConfirmed(signer, sent, options);
  } finally {
    waiting.get(sent.account)!.delete(sent.nonce);
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
    const version = await signNew(signer, { ...request, from, nonce }, feePerGasMaxWei);
    try {
      await broadcast(signer.provider!, version);
      return { account, from, nonce, versions: [version] };
    } catch (error) {
      if (!isTaken(error) && !isTooCheap(error)) throw error;
      if (attempt === attemptsMax) throw error;
      await sleep(pollingOf(signer.provider!));
    }
  }
}

async function untilConfirmed(signer: Signer, sent: Sent, options: SubmitOptions): Promise<TransactionReceipt> {
  const provider = signer.provider!;
  const pollingMs = pollingOf(provider);
  const [taken, cutOff] = [new Suspicion(), new Suspicion()];
  let [pricedAt, heardAt] = [performance.now(), performance.now()];
  for (;;) {
    try {
      const found = await lookFor(provider, sent, taken);
      if (typeof found !== 'string') {
        const head = await provider.getBlockNumber();
        if (head - found.blockNumber + 1 >= options.confirmations) return succeeded(found, sent, provider);
      } else if (found === 'pending' && performance.now() - pricedAt > options.repriceAfterMs) {
        const { length } = sent.versions;
        if (length > options.repricings) throw stuck(sent, `none after ${length - 1} repricings`);
        if (await stands(provider, sent, cutOff)) {
          pricedAt = performance.now();
          await reprice(signer, sent, options);
        }
      } else if (found === 'pending') {
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
  const mined = { from: sent.from, nonce: sent.nonce, versions: [{ hash: sent.hash, transaction: sent }] };
  const taken = new Suspicion();
  for (;;) {
    const found = await lookFor(provider, mined, taken);
    if (typeof found !== 'string') return void (await succeeded(found, mined, provider));
    if (performance.now() - began > patienceMs) throw stuck(sent, `none within ${patienceMs / 1000} s`);
    await sleep(pollingOf(provider));
  }
}

/**
 * @returns 'taken': a block took the nonce, and of which transaction is not known yet
 * @throws CollateralError CHAIN_REPLACED once that lasts
 */
async function lookFor(
  provider: Provider,
  { from, nonce, versions }: Mined,
  taken: Suspicion,
): Promise<TransactionReceipt | 'pending' | 'taken'> {
  for (const { hash } of versions) {
    const receipt = await provider.getTransactionReceipt(hash);
    if (receipt === null) continue;
    taken.lasts(false);
    return receipt;
  }
  const isTaken = (await provider.getTransactionCount(from, 'latest')) > nonce;
  if (taken.lasts(isTaken)) throw replaced({ from, nonce }, 'another transaction with its nonce');
  return isTaken ? 'taken' : 'pending';
}

/**
 * Whether the chain still has the account's earlier transactions.
 * @throws CollateralError CHAIN_REPLACED once it has stayed without one of them
 */
async function stands(provider: Provider, sent: Sent, cutOff: Suspicion): Promise<boolean> {
  const next = await provider.getTransactionCount(sent.from, 'pending');
  const lacksOne = next < sent.nonce && !isWaiting(sent.account, next);
  if (cutOff.lasts(lacksOne)) throw replaced(sent, `a branch without transaction ${next}`);
  return !lacksOne;
}

/** A node that forgot the transaction is given the same bytes. */
async function sendAgain(provider: Provider, { versions }: Sent): Promise<void> {
  for (const { hash } of versions.toReversed()) if (await isAt(provider, hash)) return;
  try {
    await broadcast(provider, versions.at(-1)!);
  } catch (error) {
    if (!isTaken(error) && !isTooCheap(error)) throw error;
  }
}

/**
 * The same transaction for a quarter more than the last time, whether or not that one was refused: most nodes take a
 * replacement that pays a tenth more.
 */
async function reprice(signer: Signer, { versions }: Sent, { feePerGasMaxWei }: SubmitOptions): Promise<void> {
  const transaction = versions.at(-1)!.transaction.clone();
  const raised = (fee: bigint | null) => ((fee ?? 0n) * 5n) / 4n + 1n;
  transaction.signature = null;
  transaction.maxFeePerGas = raised(transaction.maxFeePerGas);
  transaction.maxPriorityFeePerGas = raised(transaction.maxPriorityFeePerGas);
  checkFees(transaction, feePerGasMaxWei);
  const version = await signVersion(signer, transaction);
  // Before it is sent: where the answer is lost, a block may take it all the same.
  versions.push(version);
  try {
    await broadcast(signer.provider!, version);
  } catch (error) {
    if (!isTaken(error) && !isTooCheap(error)) throw error;
  }
}

/** A lost answer does no harm: the same bytes, sent again, are the same transaction, in whatever words the node says so. */
async function broadcast(provider: Provider, { hash, signed }: Signed): Promise<void> {
  try {
    await provider.broadcastTransaction(signed);
  } catch (error) {
    if (/already ?(known|imported)|\bknown transaction/i.test(wordsOf(error))) return;
    // Of an error that says nothing certain, the transaction may still be on its way to the node that is asked.
    const looks = isTransient(error) ? looksAfterSending : 1;
    for (let look = 1; !(await isAt(provider, hash)); look++) {
      if (look === looks) throw error;
      await sleep(pollingOf(provider));
    }
  }
}

async function isAt(provider: Provider, hash: string): Promise<boolean> {
  return (await provider.getTransaction(hash)) !== null;
}

/** Blocks have become dearer since it was priced. */
function isTooCheap(error: unknown): boolean {
  return /less than block base fee/i.test(wordsOf(error));
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
  const { to, data, value, gasLimit } = sent.versions[0]!.transaction;
  if (ranOut(receipt.gasUsed, gasLimit)) {
    throw outOfGas(`transaction ${receipt.hash}`, `reverted, out of gas: ${receipt.gasUsed} of ${gasLimit} used`);
  }
  await provider.call({ to, data, value, from: sent.from, blockTag: receipt.blockNumber });
  throw new Rejection('CHAIN_REVERT', {
    expected: `transaction ${receipt.hash} to succeed`,
    got: 'one that failed where it stood in its block',
    rule: 'contracts/SPEC.md §6',
  });
}

/** A call within a call leaves its caller a 64th (EIP-150), which then reverts; what reverts by itself leaves a sixth. */
function ranOut(used: bigint, limit: bigint): boolean {
  return used * 64n >= limit * 63n;
}

function replaced({ from, nonce }: Pick<Sent, 'from' | 'nonce'>, got: string): CollateralError {
  return new CollateralError(replacedCode, {
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
