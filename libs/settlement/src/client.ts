/**
 * The escrow as its users call it. Every call first looks at the chain: what has already been done is not sent again,
 * and its receipt is found from the event it left.
 */
import { ZeroAddress, type ContractTransactionResponse, type Signer } from 'ethers';
import {
  Rejection,
  domainSeparator,
  jobDigest,
  registryDomainSeparator,
  type Appraisal,
  type Digest,
  type Terms,
} from '#attestation';
import { addressBytes, checksummed, hex, termsStruct } from './chain.js';
import { erc20At, errorAbi, registryAt, settlementAt } from './contracts.js';
import type { Deployment } from './deploy.js';
import { chainFailure } from './failure.js';
import { confirmed, patiently, type WaitOptions } from './receipt.js';
import { inTurn } from './turn.js';
import type { EnclaveRegistry } from './types/EnclaveRegistry.js';
import type { Settlement } from './types/Settlement.js';

/** In the contract's order. */
export const jobStates = [
  'None',
  'Open',
  'Accepted',
  'Started',
  'Committed',
  'Settled',
  'Stopped',
  'Aborted',
  'Abandoned',
  'Undelivered',
  'Slashed',
  'Voided',
] as const;
export type JobState = (typeof jobStates)[number];

export interface TxReceipt {
  readonly txHash: string;
  readonly blockNumber: number;
}

export interface JobView {
  readonly state: JobState;
  readonly outcome: number;
  readonly upTo: number;
  readonly openDuties: number;
  /** Unix seconds at which the present state began. */
  readonly since: number;
  readonly ackUntil: number;
  /** The client says that the ciphertext cannot be had, and nobody has shown it yet. */
  readonly missing: boolean;
  readonly paid: bigint;
  readonly root: string;
  readonly delivery: string;
}

export interface CommittedRun {
  readonly outcome: 0 | 1 | 2;
  readonly borders: readonly Digest[];
  /** SAMPLE mode only; else 32 zero bytes. */
  readonly seedProvider: Digest;
  readonly delivery: Digest;
  /** TeeSeal over Run, or empty. */
  readonly seal: Uint8Array;
}

export interface ReleaseAuthority {
  /** enclaveKeyWord of the settlement key. */
  readonly enclaveKey: Digest;
  readonly shardsDigest: Digest;
  /** Client or key broker; zero: `signature` is a TeeSeal over Release. */
  readonly signer: Uint8Array;
  readonly signature: Uint8Array;
}

export interface ClientOptions {
  /** Blocks that must hold a transaction before a call returns, its own among them. */
  readonly confirmations?: number;
  /** Milliseconds without a receipt after which a transaction is sent again for a higher fee. */
  readonly repriceAfterMs?: number;
  readonly repricings?: number;
}

const zeroWord = new Uint8Array(32);
/** FLAG_MISSING of contracts/src/Types.sol. */
const missingFlag = 32n;

export class SettlementClient {
  readonly #contract: Settlement;
  readonly #registry: EnclaveRegistry;
  readonly #wait: WaitOptions;

  constructor(
    readonly deployment: Deployment,
    readonly signer: Signer,
    options: ClientOptions = {},
  ) {
    this.#contract = settlementAt(deployment.settlement, signer);
    this.#registry = registryAt(deployment.registry, signer);
    this.#wait = {
      confirmations: options.confirmations ?? 1,
      repriceAfterMs: options.repriceAfterMs ?? 60_000,
      repricings: options.repricings ?? 5,
    };
  }

  /** EIP-712 domain of Run, Segment, Release, Voucher, Award. */
  get domain(): Digest {
    const { chainId, settlement } = this.deployment;
    return domainSeparator({ chainId, verifyingContract: addressBytes(settlement) });
  }

  /** EIP-712 domain of Appraisal, Revocation, Availability. */
  get registryDomain(): Digest {
    const { chainId, registry } = this.deployment;
    return registryDomainSeparator({ chainId, verifyingContract: addressBytes(registry) });
  }

  /** @param atBlock  number of the block whose state is asked for; absent: the latest */
  async job(terms: Terms, atBlock?: number): Promise<JobView> {
    const at = atBlock === undefined ? {} : { blockTag: atBlock };
    const j = await this.#read('jobOf', () => this.#contract.jobOf(jobDigest(terms), at));
    return {
      state: jobStates[Number(j.state)] ?? 'None',
      outcome: Number(j.outcome),
      upTo: Number(j.upTo),
      openDuties: Number(j.openDuties),
      since: Number(j.since),
      ackUntil: Number(j.ackUntil),
      missing: (j.flags & missingFlag) !== 0n,
      paid: j.paid,
      root: j.root,
      delivery: j.delivery,
    };
  }

  /** Escrows the price; approves the token first where that is needed. */
  async open(terms: Terms): Promise<TxReceipt> {
    if ((await this.job(terms)).state !== 'None') return this.#done('JobOpened', terms);
    const value = await this.#allow(terms.token, terms.price);
    return this.#send('open', () => this.#contract.open(termsStruct(terms), { value }));
  }

  async cancel(terms: Terms): Promise<TxReceipt> {
    return this.#ending('cancel', terms, ['Aborted'], () => this.#contract.cancel(termsStruct(terms)));
  }

  /** Deposits what is missing of the stake, then accepts. `award` only where the terms name no provider. */
  async accept(terms: Terms, seedCommit: Digest = zeroWord, award = new Uint8Array()): Promise<TxReceipt> {
    if (await this.#isPast(terms, 'Accepted')) return this.#done('JobAccepted', terms);
    const stake = await this.stakeOf(await this.signer.getAddress(), terms.token);
    if (stake.free < terms.stake) await this.depositStake(terms.token, terms.stake - stake.free);
    return this.#send('accept', () => this.#contract.accept(termsStruct(terms), seedCommit, award));
  }

  async start(terms: Terms, release: ReleaseAuthority): Promise<TxReceipt> {
    if (await this.#isPast(terms, 'Started')) return this.#done('JobStarted', terms);
    const { enclaveKey, shardsDigest, signer, signature } = release;
    return this.#send('start', () =>
      this.#contract.start(termsStruct(terms), enclaveKey, shardsDigest, checksummed(signer), signature),
    );
  }

  /** Asks the provider to stop: it may then commit a prefix. */
  async stop(terms: Terms): Promise<TxReceipt> {
    return this.#send('stop', () => this.#contract.stop(termsStruct(terms)));
  }

  async commit(terms: Terms, run: CommittedRun): Promise<TxReceipt> {
    if (await this.#isPast(terms, 'Committed')) return this.#done('JobCommitted', terms);
    return this.#send('commit', () => this.#contract.commit(termsStruct(terms), { ...run, borders: [...run.borders] }));
  }

  /** Pays. `revealed` opens the delivery in REVEAL mode. */
  async finalize(terms: Terms, revealed?: { ciphertextDigest: Digest; key: Uint8Array }): Promise<TxReceipt> {
    return this.#ending('finalize', terms, ['Settled', 'Stopped'], () =>
      this.#contract.finalize(termsStruct(terms), revealed?.ciphertextDigest ?? zeroWord, revealed?.key ?? zeroWord),
    );
  }

  async abort(terms: Terms): Promise<TxReceipt> {
    return this.#ending('abort', terms, ['Aborted'], () => this.#contract.abort(termsStruct(terms)));
  }

  async abandon(terms: Terms): Promise<TxReceipt> {
    return this.#ending('abandon', terms, ['Abandoned'], () => this.#contract.abandon(termsStruct(terms)));
  }

  async undelivered(terms: Terms): Promise<TxReceipt> {
    return this.#ending('undelivered', terms, ['Undelivered'], () => this.#contract.undelivered(termsStruct(terms)));
  }

  async void(terms: Terms): Promise<TxReceipt> {
    return this.#ending('void', terms, ['Voided'], () => this.#contract.void(termsStruct(terms)));
  }

  /** The client has the ciphertext: nobody need wait for the rest of the ack window. */
  async acknowledge(terms: Terms): Promise<TxReceipt> {
    return this.#send('acknowledge', () => this.#contract.acknowledge(termsStruct(terms)));
  }

  /** The client cannot get the ciphertext; deposits one bondFee. */
  async missing(terms: Terms): Promise<TxReceipt> {
    const value = await this.#allow(terms.token, terms.bondFee);
    return this.#send('missing', () => this.#contract.missing(termsStruct(terms), { value }));
  }

  /** Answers `missing` with the attestors' signatures over availabilityDigest(registryDomain, job, ciphertextDigest). */
  async available(
    terms: Terms,
    ciphertextDigest: Digest,
    keyCommit: Digest,
    signatures: readonly Uint8Array[],
  ): Promise<TxReceipt> {
    if (await this.#isAnswered(terms)) return this.#done('CiphertextAvailable', terms);
    const given = [...signatures];
    return this.#send('available', () =>
      this.#contract.available(termsStruct(terms), ciphertextDigest, keyCommit, given),
    );
  }

  /** Answers `missing` with the ciphertext itself, which has to fit one transaction. */
  async publish(terms: Terms, keyCommit: Digest, ciphertext: Uint8Array): Promise<TxReceipt> {
    if (await this.#isAnswered(terms)) return this.#done('CiphertextAvailable', terms);
    return this.#send('publish', () => this.#contract.publish(termsStruct(terms), keyCommit, ciphertext));
  }

  async voucher(terms: Terms, cumulative: bigint, signature: Uint8Array): Promise<TxReceipt> {
    if ((await this.job(terms)).paid >= cumulative) return this.#done('VoucherPaid', terms);
    return this.#send('voucher', () => this.#contract.voucher(termsStruct(terms), cumulative, signature));
  }

  async depositStake(token: Uint8Array, amount: bigint): Promise<TxReceipt> {
    const value = await this.#allow(token, amount);
    return this.#send('depositStake', () => this.#contract.depositStake(checksummed(token), amount, { value }));
  }

  async releaseStake(token: Uint8Array, amount: bigint): Promise<TxReceipt> {
    return this.#send('releaseStake', () => this.#contract.releaseStake(checksummed(token), amount));
  }

  async stakeOf(who: string, token: Uint8Array): Promise<{ free: bigint; locked: bigint }> {
    const { free, locked } = await this.#read('stakes', () => this.#contract.stakes(who, checksummed(token)));
    return { free, locked };
  }

  async creditOf(who: string, token: Uint8Array): Promise<bigint> {
    return this.#read('credits', () => this.#contract.credits(who, checksummed(token)));
  }

  /** Takes out the signer's whole credit. @returns undefined when there is none */
  async withdraw(token: Uint8Array): Promise<TxReceipt | undefined> {
    if ((await this.creditOf(await this.signer.getAddress(), token)) === 0n) return undefined;
    return this.#send('withdraw', () => this.#contract.withdraw(checksummed(token)));
  }

  /** Registers an enclave key on the attestors' signatures over appraisalDigest(registryDomain, appraisal). */
  async registerEnclave(appraisal: Appraisal, signatures: readonly Uint8Array[]): Promise<TxReceipt> {
    const registered = await this.#registration(appraisal);
    if (registered !== undefined) return registered;
    const { struct, given } = registrationOf(appraisal, signatures);
    return this.#send('register', () => this.#registry.register(struct, given));
  }

  /** Fails where registerEnclave would, and sends nothing. @throws Rejection with the registry's error */
  async checkRegistration(appraisal: Appraisal, signatures: readonly Uint8Array[]): Promise<void> {
    if ((await this.#registration(appraisal)) !== undefined) return;
    const { struct, given } = registrationOf(appraisal, signatures);
    await this.#read('register', () => this.#registry.register.staticCall(struct, given));
  }

  async revokeEnclave(key: Uint8Array, reason: Digest, signatures: readonly Uint8Array[]): Promise<TxReceipt> {
    return this.#send('revoke', () => this.#registry.revoke(checksummed(key), reason, signatures as Uint8Array[]));
  }

  /** Whether the key may seal for this policy and provider now, or the code of what stands against it. */
  async enclaveStanding(
    key: Uint8Array,
    policy: Digest,
    provider: Uint8Array,
    minTier: number,
  ): Promise<{ live: true; tier: number } | { live: false; code: string }> {
    try {
      const call = () => this.#registry.requireLive(checksummed(key), policy, checksummed(provider), minTier);
      return { live: true, tier: Number(await this.#read('requireLive', call)) };
    } catch (error) {
      if (error instanceof Rejection) return { live: false, code: error.code };
      throw error;
    }
  }

  /** Where this evidence has registered this key already. */
  async #registration(appraisal: Appraisal): Promise<TxReceipt | undefined> {
    const key = checksummed(appraisal.key);
    const holder = await this.#read('keyOfEvidence', () => this.#registry.keyOfEvidence(appraisal.evidence));
    if (holder !== key) return undefined;
    const { fromBlock } = this.deployment;
    const filter = this.#registry.filters.EnclaveRegistered(key);
    const events = await this.#read('registration', () => this.#registry.queryFilter(filter, fromBlock));
    const mine = events.find((event) => event.args.evidence === hex(appraisal.evidence));
    return mine && { txHash: mine.transactionHash, blockNumber: mine.blockNumber };
  }

  async #isAnswered(terms: Terms): Promise<boolean> {
    if ((await this.job(terms)).missing) return false;
    return (await this.#find('CiphertextAvailable', terms)) !== undefined;
  }

  async #isPast(terms: Terms, state: JobState): Promise<boolean> {
    const now = (await this.job(terms)).state;
    if (jobStates.indexOf(now) < jobStates.indexOf(state)) return false;
    if (jobStates.indexOf(now) <= jobStates.indexOf('Committed')) return true;
    // An ended job has passed this state only if it left the event.
    return (await this.#find(eventOfState[state]!, terms)) !== undefined;
  }

  async #ending(
    name: string,
    terms: Terms,
    ends: readonly JobState[],
    call: () => Promise<ContractTransactionResponse>,
  ): Promise<TxReceipt> {
    if (ends.includes((await this.job(terms)).state)) return this.#done('JobEnded', terms);
    return this.#send(name, call);
  }

  async #done(event: JobEvent, terms: Terms): Promise<TxReceipt> {
    const found = await this.#find(event, terms);
    if (found !== undefined) return found;
    throw new Rejection('CHAIN_EVENT', {
      expected: `${event} of job ${hex(jobDigest(terms))}`,
      got: `none since block ${this.deployment.fromBlock}`,
      rule: 'settlement §16',
      action: 'check the deployment’s first block',
    });
  }

  /** The latest event of this kind and job. */
  async #find(event: JobEvent, terms: Terms): Promise<TxReceipt | undefined> {
    const filter = this.#contract.filters[event](jobDigest(terms));
    const logs = await this.#read(event, () => this.#contract.queryFilter(filter, this.deployment.fromBlock));
    const last = logs.at(-1);
    return last && { txHash: last.transactionHash, blockNumber: last.blockNumber };
  }

  /** Makes `amount` of the token available to the contract. @returns the value to send along */
  async #allow(token: Uint8Array, amount: bigint): Promise<bigint> {
    const address = checksummed(token);
    if (address === ZeroAddress) return amount;
    const erc20 = erc20At(address, this.signer);
    const { settlement } = this.deployment;
    const owner = await this.signer.getAddress();
    const allowed: bigint = await this.#read('allowance', () => erc20.getFunction('allowance')(owner, settlement));
    if (allowed < amount) await this.#send('approve', () => erc20.getFunction('approve').send(settlement, amount));
    return 0n;
  }

  async #send(name: string, call: () => Promise<ContractTransactionResponse>): Promise<TxReceipt> {
    try {
      const sent = await inTurn(`${this.deployment.chainId}:${await this.signer.getAddress()}`, call);
      const receipt = await confirmed(sent, this.signer, this.#wait);
      return { txHash: receipt.hash, blockNumber: receipt.blockNumber };
    } catch (error) {
      throw chainFailure(error, name, errorAbi);
    }
  }

  async #read<T>(name: string, call: () => Promise<T>): Promise<T> {
    try {
      return await patiently(call);
    } catch (error) {
      throw chainFailure(error, name, errorAbi);
    }
  }
}

function registrationOf(appraisal: Appraisal, signatures: readonly Uint8Array[]) {
  const { key, provider } = appraisal;
  return {
    struct: { ...appraisal, key: checksummed(key), provider: checksummed(provider) },
    given: [...signatures],
  };
}

type JobEvent =
  'JobOpened' | 'JobAccepted' | 'JobStarted' | 'JobCommitted' | 'JobEnded' | 'VoucherPaid' | 'CiphertextAvailable';

const eventOfState: Partial<Record<JobState, JobEvent>> = {
  Accepted: 'JobAccepted',
  Started: 'JobStarted',
  Committed: 'JobCommitted',
};
