/**
 * How the clients call the contracts. A call that changes something first looks at the chain: what has been done is not
 * sent again, and its receipt is found from the event it left. It looks again when the chain refuses: another process,
 * or a transaction whose answer was lost, may have been faster.
 */
import type { ContractTransaction, Interface, Provider, Signer } from 'ethers';
import { Rejection, to0x } from '#attestation/base';
import { escrowIdOf, type Terms } from '#attestation/records';
import { chainSettings, type ChainSettings } from './chain-kinds.js';
import { addressWord } from './chain.js';
import { deliveryAt, dutiesAt, errorAbi, keysAbi, keysAt, settlementAbi, settlementAt } from './contracts.js';
import type { Deployment } from './deployment.js';
import { chainFailure } from './failure.js';
import { JobLog, type EventSource, type JobEventLog } from './job-log.js';
import { jobStates, viewOf, type JobState, type JobView } from './job-view.js';
import {
  submit,
  submitAlone,
  submitOptions,
  untilTaken,
  type Decide,
  type SubmitChoice,
  type SubmitOptions,
} from './transaction.js';
import type { Delivery } from './types/Delivery.js';
import type { Duties } from './types/Duties.js';
import type { Keys } from './types/Keys.js';
import type { Settlement } from './types/Settlement.js';

export interface TxReceipt {
  readonly txHash: string;
  readonly blockNumber: number;
}

export interface ClientOptions extends SubmitChoice {
  /** Blocks of which logs are asked for at once; absent: 2,000, which public nodes allow. */
  readonly logBlocks?: number;
}

export interface Block {
  readonly number: number;
  /** Unix seconds. */
  readonly timestamp: number;
}

type JobEvent =
  | 'JobOpened'
  | 'JobAccepted'
  | 'JobStarted'
  | 'KeyBound'
  | 'JobStopRequested'
  | 'JobCommitted'
  | 'JobEnded'
  | 'VoucherPaid'
  | 'PrefixPaid'
  | 'SampleDrawn'
  | 'SealRemoved'
  | 'CiphertextMissing'
  | 'CiphertextAvailable'
  | 'ResultAcknowledged'
  | 'KeyRevealed'
  | 'DutyOpened'
  | 'DutyDischarged'
  | 'BondRefunded';

type Populate = () => Promise<ContractTransaction>;
type Done = () => Promise<TxReceipt | undefined>;

export class Calls {
  readonly settlement: Settlement;
  readonly duties: Duties;
  readonly keys: Keys;
  readonly delivery: Delivery;
  /** What is safe on this chain. */
  readonly settings: ChainSettings;
  readonly #submit: SubmitOptions;
  readonly #log: JobLog;
  readonly #events: EventSource;

  constructor(
    readonly deployment: Deployment,
    readonly signer: Signer,
    { logBlocks, ...options }: ClientOptions = {},
  ) {
    this.settlement = settlementAt(deployment.settlement, signer);
    this.duties = dutiesAt(deployment.duties, signer);
    this.keys = keysAt(deployment.keys, signer);
    this.delivery = deliveryAt(deployment.delivery, signer);
    this.settings = chainSettings[deployment.setup.kind];
    this.#submit = submitOptions(deployment.setup.kind, options);
    this.#events = sourceOf(deployment.settlement, settlementAbi);
    this.#log = new JobLog(signer.provider!, this.#events, deployment.fromBlock, logBlocks);
  }

  get provider(): Provider {
    return this.signer.provider!;
  }

  /** @param atBlock  number of the block whose state is asked for; absent: the latest */
  async job(terms: Terms, atBlock?: number): Promise<JobView> {
    const at = atBlock === undefined ? {} : { blockTag: atBlock };
    const id = escrowIdOf(terms);
    const { settlement } = this.deployment;
    return this.read('jobOf', async () =>
      viewOf(...(await Promise.all([this.settlement.jobOf(id, at), this.duties.dutyOf(settlement, id, at)]))),
    );
  }

  /** The newest block of which this chain's settings say that it stays. */
  acting(): Promise<Block> {
    return this.block(this.settings.actsAt);
  }

  block(at: number | ChainSettings['actsAt']): Promise<Block> {
    return this.read('eth_getBlockByNumber', async () => {
      const { number, timestamp } = (await this.provider.getBlock(at))!;
      return { number, timestamp };
    });
  }

  send(name: string, populate: Populate): Promise<TxReceipt> {
    return this.read(name, async () =>
      receiptOf(await submit(this.signer, this.deployment.chainId, await populate(), this.#submit)),
    );
  }

  /** For what the chain would do twice: decided by the state of a block, which the transaction follows or nothing does. */
  sendAlone(name: string, decide: Decide): Promise<TxReceipt | undefined> {
    return this.read(name, async () => {
      const receipt = await submitAlone(this.signer, this.deployment.chainId, decide, this.#submit);
      return receipt && receiptOf(receipt);
    });
  }

  /** Sends unless `done` says that it has been done. */
  async once(name: string, done: Done, populate: Populate): Promise<TxReceipt> {
    const before = await done();
    if (before !== undefined) return before;
    try {
      return await this.send(name, populate);
    } catch (error) {
      const after =
        error instanceof Rejection || codeOf(error) === 'CHAIN_REPLACED' ? await this.#doneByNow(done) : undefined;
      if (after !== undefined) return after;
      throw error;
    }
  }

  /**
   * Nodes refuse what goes against a transaction that no block has yet: it may be that of a process before this one. Where no
   * block takes it, what the contract said is known all the same.
   */
  async #doneByNow(done: Done): Promise<TxReceipt | undefined> {
    const now = await done();
    if (now !== undefined) return now;
    try {
      await this.read('eth_getTransactionCount', () => untilTaken(this.signer));
    } catch (error) {
      if (codeOf(error) === 'CHAIN_STUCK') return undefined;
      throw error;
    }
    return done();
  }

  /** Sends unless the job has ended in one of these states. */
  async ending(name: string, terms: Terms, ends: readonly JobState[], populate: Populate): Promise<TxReceipt> {
    const done: Done = async () =>
      ends.includes((await this.job(terms)).state) ? this.required('JobEnded', terms) : undefined;
    return this.once(name, done, populate);
  }

  /** The event that a job leaves when it enters `state`, once it has been there. */
  async entered(state: 'Accepted' | 'Started' | 'Committed', terms: Terms): Promise<TxReceipt | undefined> {
    const now = (await this.job(terms)).state;
    if (jobStates.indexOf(now) < jobStates.indexOf(state)) return undefined;
    const isLive = jobStates.indexOf(now) <= jobStates.indexOf('Committed');
    // An ended job has passed this state only if it left the event.
    return isLive ? this.required(`Job${state}`, terms) : this.find(`Job${state}`, terms);
  }

  /** @throws Rejection CHAIN_EVENT */
  async required(event: JobEvent, terms: Terms): Promise<TxReceipt> {
    const { txHash, blockNumber } = await this.requiredLog(event, terms);
    return { txHash, blockNumber };
  }

  /** The same with its parameters. @throws Rejection CHAIN_EVENT */
  async requiredLog(event: JobEvent, terms: Terms): Promise<JobEventLog> {
    const found = await this.log(event, terms);
    if (found !== undefined) return found;
    throw new Rejection('CHAIN_EVENT', {
      expected: `${event} of job ${to0x(escrowIdOf(terms))}`,
      got: `none since block ${this.deployment.fromBlock}`,
      rule: 'contracts/SPEC.md §16',
      action: 'check the deployment’s first block',
    });
  }

  /** The latest event of this kind and job. @param indexed parameters after the job, as words; null: any */
  async find(event: JobEvent, terms: Terms, indexed?: readonly (string | null)[]): Promise<TxReceipt | undefined> {
    const found = await this.log(event, terms, indexed);
    return found && { txHash: found.txHash, blockNumber: found.blockNumber };
  }

  /** The same with its parameters. */
  async log(event: JobEvent, terms: Terms, indexed?: readonly (string | null)[]): Promise<JobEventLog | undefined> {
    const { state, since } = await this.job(terms);
    if (state === 'None') return undefined;
    return this.read(event, () =>
      event === 'JobOpened'
        ? this.#log.opened(terms, since)
        : this.#log.last(this.#events, event, terms, since, indexed),
    );
  }

  /** The Revocation of a key that was sent after the job was opened. @param key as a word */
  async revocation(terms: Terms, key: string): Promise<TxReceipt | undefined> {
    const { state, since } = await this.job(terms);
    if (state === 'None') return undefined;
    const source = sourceOf(this.deployment.keys, keysAbi, addressWord(this.deployment.settlement));
    const found = await this.read('KeyRevoked', () => this.#log.last(source, 'KeyRevoked', terms, since, [key]));
    return found && { txHash: found.txHash, blockNumber: found.blockNumber };
  }

  async read<T>(name: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw chainFailure(error, name, errorAbi);
    }
  }
}

function receiptOf({ hash, blockNumber }: { hash: string; blockNumber: number }): TxReceipt {
  return { txHash: hash, blockNumber };
}

function sourceOf(address: string, abi: Interface, ...before: readonly string[]): EventSource {
  return { address, abi, before };
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
