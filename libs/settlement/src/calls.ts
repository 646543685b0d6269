/**
 * How the clients call the contracts. A call that changes something first looks at the chain: what has been done is not
 * sent again, and its receipt is found from the event it left. It looks again when the chain refuses: another process,
 * or a transaction whose answer was lost, may have been faster.
 */
import type { ContractTransaction, Signer } from 'ethers';
import { jobDigest, Rejection, type Terms } from '#attestation';
import { hex } from './chain.js';
import { errorAbi, settlementAt } from './contracts.js';
import type { Deployment } from './deployment.js';
import { chainFailure } from './failure.js';
import { jobStates, viewOf, type JobState, type JobView } from './job-view.js';
import { submit, type SubmitOptions } from './transaction.js';
import type { Settlement } from './types/Settlement.js';

export interface TxReceipt {
  readonly txHash: string;
  readonly blockNumber: number;
}

export type ClientOptions = Partial<SubmitOptions>;

export type JobEvent =
  | 'JobOpened'
  | 'JobAccepted'
  | 'JobStarted'
  | 'JobStopRequested'
  | 'JobCommitted'
  | 'JobEnded'
  | 'VoucherPaid'
  | 'PrefixPaid'
  | 'SampleDrawn'
  | 'Escalated'
  | 'CiphertextMissing'
  | 'CiphertextAvailable'
  | 'ResultAcknowledged';
export type DutyEvent = 'DutyOpened' | 'DutyDischarged' | 'BondRefunded';

type Populate = () => Promise<ContractTransaction>;
type Done = () => Promise<TxReceipt | undefined>;

export class Calls {
  readonly settlement: Settlement;
  readonly #submit: SubmitOptions;

  constructor(
    readonly deployment: Deployment,
    readonly signer: Signer,
    options: ClientOptions = {},
  ) {
    this.settlement = settlementAt(deployment.settlement, signer);
    this.#submit = { confirmations: 1, repriceAfterMs: 60_000, repricings: 5, ...options };
  }

  /** @param atBlock  number of the block whose state is asked for; absent: the latest */
  async job(terms: Terms, atBlock?: number): Promise<JobView> {
    const at = atBlock === undefined ? {} : { blockTag: atBlock };
    return viewOf(await this.read('jobOf', () => this.settlement.jobOf(jobDigest(terms), at)));
  }

  async send(name: string, populate: Populate): Promise<TxReceipt> {
    try {
      const request = await populate();
      const { chainId } = this.deployment;
      const receipt = await submit(this.signer, chainId, request, this.#submit);
      return { txHash: receipt.hash, blockNumber: receipt.blockNumber };
    } catch (error) {
      throw chainFailure(error, name, errorAbi);
    }
  }

  /** Sends unless `done` says that it has been done. */
  async once(name: string, done: Done, populate: Populate): Promise<TxReceipt> {
    const before = await done();
    if (before !== undefined) return before;
    try {
      return await this.send(name, populate);
    } catch (error) {
      const after = error instanceof Rejection || isReplaced(error) ? await done() : undefined;
      if (after !== undefined) return after;
      throw error;
    }
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
    const found = await this.find(event, terms);
    if (found !== undefined) return found;
    throw new Rejection('CHAIN_EVENT', {
      expected: `${event} of job ${hex(jobDigest(terms))}`,
      got: `none since block ${this.deployment.fromBlock}`,
      rule: 'settlement §16',
      action: 'check the deployment’s first block',
    });
  }

  /** The latest event of this kind and job. */
  async find(event: JobEvent, terms: Terms): Promise<TxReceipt | undefined> {
    const filter = this.settlement.filters[event](jobDigest(terms));
    return this.#latest(event, () => this.settlement.queryFilter(filter, this.deployment.fromBlock));
  }

  /** @param challenger of DutyOpened; absent: any */
  async findDuty(event: DutyEvent, terms: Terms, segment: number, challenger?: string): Promise<TxReceipt | undefined> {
    const { filters } = this.settlement;
    const job = jobDigest(terms);
    const filter = event === 'DutyOpened' ? filters.DutyOpened(job, segment, challenger) : filters[event](job, segment);
    return this.#latest(event, () =>
      this.settlement.queryFilter(filter as ReturnType<typeof filters.DutyOpened>, this.deployment.fromBlock),
    );
  }

  async read<T>(name: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw chainFailure(error, name, errorAbi);
    }
  }

  async #latest(
    event: string,
    query: () => Promise<readonly { transactionHash: string; blockNumber: number }[]>,
  ): Promise<TxReceipt | undefined> {
    const last = (await this.read(event, query)).at(-1);
    return last && { txHash: last.transactionHash, blockNumber: last.blockNumber };
  }
}

function isReplaced(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'CHAIN_REPLACED';
}
