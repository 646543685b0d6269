/** The escrow as its users call it: a job's way, its money, its delivery. What must be proved is in duties.ts. */
import { ZeroAddress, type Signer } from 'ethers';
import {
  domainSeparator,
  registryDomainSeparator,
  Rejection,
  type Appraisal,
  type Digest,
  type Terms,
} from '#attestation';
import { Calls, type ClientOptions, type TxReceipt } from './calls.js';
import { addressBytes, checksummed, hex, termsStruct } from './chain.js';
import { erc20At, registryAt } from './contracts.js';
import type { Deployment } from './deployment.js';
import { DutyClient } from './duties.js';
import type { JobView } from './job-view.js';
import type { EnclaveRegistry } from './types/EnclaveRegistry.js';

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

const zeroWord = new Uint8Array(32);

export class SettlementClient {
  /** Segments that must be proved. */
  readonly duties: DutyClient;
  readonly #calls: Calls;
  readonly #registry: EnclaveRegistry;

  constructor(
    readonly deployment: Deployment,
    readonly signer: Signer,
    options: ClientOptions = {},
  ) {
    this.#calls = new Calls(deployment, signer, options);
    this.#registry = registryAt(deployment.registry, signer);
    this.duties = new DutyClient(this.#calls, (token, amount) => this.#allow(token, amount));
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
  job(terms: Terms, atBlock?: number): Promise<JobView> {
    return this.#calls.job(terms, atBlock);
  }

  /** Escrows the price; approves the token first where that is needed. */
  async open(terms: Terms): Promise<TxReceipt> {
    const done = async () =>
      (await this.job(terms)).state === 'None' ? undefined : this.#calls.required('JobOpened', terms);
    return this.#calls.once('open', done, async () => {
      const value = await this.#allow(terms.token, terms.price);
      return this.#contract.open.populateTransaction(termsStruct(terms), { value });
    });
  }

  cancel(terms: Terms): Promise<TxReceipt> {
    return this.#calls.ending('cancel', terms, ['Aborted'], () =>
      this.#contract.cancel.populateTransaction(termsStruct(terms)),
    );
  }

  /** Deposits what is missing of the stake, then accepts. `award` only where the terms name no provider. */
  async accept(terms: Terms, seedCommit: Digest = zeroWord, award = new Uint8Array()): Promise<TxReceipt> {
    const done = () => this.#calls.entered('Accepted', terms);
    return this.#calls.once('accept', done, async () => {
      const stake = await this.stakeOf(await this.signer.getAddress(), terms.token);
      if (stake.free < terms.stake) await this.depositStake(terms.token, terms.stake - stake.free);
      return this.#contract.accept.populateTransaction(termsStruct(terms), seedCommit, award);
    });
  }

  start(terms: Terms, release: ReleaseAuthority): Promise<TxReceipt> {
    const { enclaveKey, shardsDigest, signer, signature } = release;
    const done = () => this.#calls.entered('Started', terms);
    return this.#calls.once('start', done, () =>
      this.#contract.start.populateTransaction(
        termsStruct(terms),
        enclaveKey,
        shardsDigest,
        checksummed(signer),
        signature,
      ),
    );
  }

  /** Asks the provider to stop: it may then commit a prefix. */
  stop(terms: Terms): Promise<TxReceipt> {
    const done = () => this.#calls.find('JobStopRequested', terms);
    return this.#calls.once('stop', done, () => this.#contract.stop.populateTransaction(termsStruct(terms)));
  }

  commit(terms: Terms, run: CommittedRun): Promise<TxReceipt> {
    const done = () => this.#calls.entered('Committed', terms);
    return this.#calls.once('commit', done, () =>
      this.#contract.commit.populateTransaction(termsStruct(terms), { ...run, borders: [...run.borders] }),
    );
  }

  /** Pays. `revealed` opens the delivery in REVEAL mode. */
  finalize(terms: Terms, revealed?: { ciphertextDigest: Digest; key: Uint8Array }): Promise<TxReceipt> {
    const { ciphertextDigest, key } = revealed ?? { ciphertextDigest: zeroWord, key: zeroWord };
    return this.#calls.ending('finalize', terms, ['Settled', 'Stopped'], () =>
      this.#contract.finalize.populateTransaction(termsStruct(terms), ciphertextDigest, key),
    );
  }

  abort(terms: Terms): Promise<TxReceipt> {
    return this.#calls.ending('abort', terms, ['Aborted'], () =>
      this.#contract.abort.populateTransaction(termsStruct(terms)),
    );
  }

  abandon(terms: Terms): Promise<TxReceipt> {
    return this.#calls.ending('abandon', terms, ['Abandoned'], () =>
      this.#contract.abandon.populateTransaction(termsStruct(terms)),
    );
  }

  undelivered(terms: Terms): Promise<TxReceipt> {
    return this.#calls.ending('undelivered', terms, ['Undelivered'], () =>
      this.#contract.undelivered.populateTransaction(termsStruct(terms)),
    );
  }

  void(terms: Terms): Promise<TxReceipt> {
    return this.#calls.ending('void', terms, ['Voided'], () =>
      this.#contract.void.populateTransaction(termsStruct(terms)),
    );
  }

  /** The client has the ciphertext: nobody need wait for the rest of the ack window. */
  acknowledge(terms: Terms): Promise<TxReceipt> {
    const done = () => this.#calls.find('ResultAcknowledged', terms);
    return this.#calls.once('acknowledge', done, () =>
      this.#contract.acknowledge.populateTransaction(termsStruct(terms)),
    );
  }

  /** The client cannot get the ciphertext; deposits one bondFee. */
  missing(terms: Terms): Promise<TxReceipt> {
    const done = () => this.#calls.find('CiphertextMissing', terms);
    return this.#calls.once('missing', done, async () => {
      const value = await this.#allow(terms.token, terms.bondFee);
      return this.#contract.missing.populateTransaction(termsStruct(terms), { value });
    });
  }

  /** Answers `missing` with the attestors' signatures over availabilityDigest(registryDomain, job, ciphertextDigest). */
  available(
    terms: Terms,
    ciphertextDigest: Digest,
    keyCommit: Digest,
    signatures: readonly Uint8Array[],
  ): Promise<TxReceipt> {
    return this.#answering('available', terms, () =>
      this.#contract.available.populateTransaction(termsStruct(terms), ciphertextDigest, keyCommit, [...signatures]),
    );
  }

  /** Answers `missing` with the ciphertext itself, which has to fit one transaction. */
  publish(terms: Terms, keyCommit: Digest, ciphertext: Uint8Array): Promise<TxReceipt> {
    return this.#answering('publish', terms, () =>
      this.#contract.publish.populateTransaction(termsStruct(terms), keyCommit, ciphertext),
    );
  }

  voucher(terms: Terms, cumulative: bigint, signature: Uint8Array): Promise<TxReceipt> {
    const done = async () =>
      (await this.job(terms)).paid >= cumulative ? this.#calls.required('VoucherPaid', terms) : undefined;
    return this.#calls.once('voucher', done, () =>
      this.#contract.voucher.populateTransaction(termsStruct(terms), cumulative, signature),
    );
  }

  /** FULL mode: pays for the first `segments` segments, all proved, less the holdback. */
  claimPrefix(terms: Terms, segments: number): Promise<TxReceipt> {
    const gross = (terms.price * BigInt(segments)) / BigInt(terms.segments);
    const due = (gross * BigInt(10_000 - terms.holdbackBps)) / 10_000n;
    const done = async () =>
      due > 0n && (await this.job(terms)).paid >= due ? this.#calls.required('PrefixPaid', terms) : undefined;
    return this.#calls.once('claimPrefix', done, () =>
      this.#contract.claimPrefix.populateTransaction(termsStruct(terms), segments),
    );
  }

  async depositStake(token: Uint8Array, amount: bigint): Promise<TxReceipt> {
    const value = await this.#allow(token, amount);
    return this.#calls.send('depositStake', () =>
      this.#contract.depositStake.populateTransaction(checksummed(token), amount, { value }),
    );
  }

  releaseStake(token: Uint8Array, amount: bigint): Promise<TxReceipt> {
    return this.#calls.send('releaseStake', () =>
      this.#contract.releaseStake.populateTransaction(checksummed(token), amount),
    );
  }

  async stakeOf(who: string, token: Uint8Array): Promise<{ free: bigint; locked: bigint }> {
    const { free, locked } = await this.#calls.read('stakes', () => this.#contract.stakes(who, checksummed(token)));
    return { free, locked };
  }

  creditOf(who: string, token: Uint8Array): Promise<bigint> {
    return this.#calls.read('credits', () => this.#contract.credits(who, checksummed(token)));
  }

  /** Takes out the signer's whole credit. @returns undefined when there is none */
  async withdraw(token: Uint8Array): Promise<TxReceipt | undefined> {
    if ((await this.creditOf(await this.signer.getAddress(), token)) === 0n) return undefined;
    return this.#calls.send('withdraw', () => this.#contract.withdraw.populateTransaction(checksummed(token)));
  }

  /** Registers an enclave key on the attestors' signatures over appraisalDigest(registryDomain, appraisal). */
  registerEnclave(appraisal: Appraisal, signatures: readonly Uint8Array[]): Promise<TxReceipt> {
    const { struct, given } = registrationOf(appraisal, signatures);
    const done = () => this.#registration(appraisal);
    return this.#calls.once('register', done, () => this.#registry.register.populateTransaction(struct, given));
  }

  /** Fails where registerEnclave would, and sends nothing. @throws Rejection with the registry's error */
  async checkRegistration(appraisal: Appraisal, signatures: readonly Uint8Array[]): Promise<void> {
    if ((await this.#registration(appraisal)) !== undefined) return;
    const { struct, given } = registrationOf(appraisal, signatures);
    await this.#calls.read('register', () => this.#registry.register.staticCall(struct, given));
  }

  revokeEnclave(key: Uint8Array, reason: Digest, signatures: readonly Uint8Array[]): Promise<TxReceipt> {
    return this.#calls.send('revoke', () =>
      this.#registry.revoke.populateTransaction(checksummed(key), reason, signatures as Uint8Array[]),
    );
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
      return { live: true, tier: Number(await this.#calls.read('requireLive', call)) };
    } catch (error) {
      if (error instanceof Rejection) return { live: false, code: error.code };
      throw error;
    }
  }

  get #contract() {
    return this.#calls.settlement;
  }

  /** Where this evidence has registered this key already. */
  async #registration(appraisal: Appraisal): Promise<TxReceipt | undefined> {
    const key = checksummed(appraisal.key);
    const holder = await this.#calls.read('keyOfEvidence', () => this.#registry.keyOfEvidence(appraisal.evidence));
    if (holder !== key) return undefined;
    const { fromBlock } = this.deployment;
    const filter = this.#registry.filters.EnclaveRegistered(key);
    const events = await this.#calls.read('registration', () => this.#registry.queryFilter(filter, fromBlock));
    const mine = events.find((event) => event.args.evidence === hex(appraisal.evidence));
    return mine && { txHash: mine.transactionHash, blockNumber: mine.blockNumber };
  }

  #answering(name: string, terms: Terms, populate: Parameters<Calls['once']>[2]): Promise<TxReceipt> {
    const done = async () =>
      (await this.job(terms)).missing ? undefined : this.#calls.find('CiphertextAvailable', terms);
    return this.#calls.once(name, done, populate);
  }

  /** Makes `amount` of the token available to the contract. @returns the value to send along */
  async #allow(token: Uint8Array, amount: bigint): Promise<bigint> {
    const address = checksummed(token);
    if (address === ZeroAddress) return amount;
    const erc20 = erc20At(address, this.signer);
    const { settlement } = this.deployment;
    const owner = await this.signer.getAddress();
    const allowed: bigint = await this.#calls.read('allowance', () =>
      erc20.getFunction('allowance')(owner, settlement),
    );
    if (allowed < amount) {
      await this.#calls.send('approve', () => erc20.getFunction('approve').populateTransaction(settlement, amount));
    }
    return 0n;
  }
}

function registrationOf(appraisal: Appraisal, signatures: readonly Uint8Array[]) {
  const { key, provider } = appraisal;
  return {
    struct: { ...appraisal, key: checksummed(key), provider: checksummed(provider) },
    given: [...signatures],
  };
}
