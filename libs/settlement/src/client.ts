/** The escrow as its users call it: a job's way and its money. Keys, delivery and duties have clients of their own. */
import { ZeroAddress, type Signer } from 'ethers';
import { fromHex, Rejection, type Digest } from '#attestation/base';
import { domainSeparator, type Terms } from '#attestation/records';
import { Calls, type Block, type ClientOptions, type TxReceipt } from './calls.js';
import type { ChainSettings } from './chain-kinds.js';
import { addressBytes, checksummed, termsStruct } from './chain.js';
import { erc20At } from './contracts.js';
import { DeliveryClient } from './delivery.js';
import type { Deployment } from './deployment.js';
import { DutyClient } from './duties.js';
import { finalFrom } from './exits.js';
import type { JobView } from './job-view.js';
import { KeysClient } from './keys.js';
import { approvalStructs, grantStruct, type SignedAppraisal, type SignedRelease } from './signed.js';
import { SnpClient } from './snp.js';

export interface CommittedRun {
  /** 3: stopped by the rule of the spec, sealed. */
  readonly outcome: 0 | 1 | 2 | 3;
  readonly borders: readonly Digest[];
  /** SAMPLE mode only; else 32 zero bytes. */
  readonly seedProvider: Digest;
  readonly delivery: Digest;
  /** runKeysOf the settlement keys behind the borders and of the sealer; empty without a seal. */
  readonly keys: readonly Uint8Array[];
  /** TeeSeal over Run, or empty. */
  readonly seal: Uint8Array;
}

/** What JobCommitted says. */
interface CommittedEvent extends TxReceipt {
  readonly outcome: number;
  readonly root: string;
  readonly delivery: Digest;
  /** Account of the key that sealed; zero: nobody. */
  readonly sealer: Uint8Array;
  readonly keys: readonly Uint8Array[];
  /** All of them, whoever sent the transaction. */
  readonly borders: readonly Digest[];
}

const zeroWord = new Uint8Array(32);

export class SettlementClient {
  /** Segments that must be proved. */
  readonly duties: DutyClient;
  /** Keys that may seal. */
  readonly keys: KeysClient;
  /** The ciphertext of the result. */
  readonly delivery: DeliveryClient;
  /** SEV-SNP evidence on chain. */
  readonly snp: SnpClient;
  readonly #calls: Calls;

  constructor(
    readonly deployment: Deployment,
    readonly signer: Signer,
    options: ClientOptions = {},
  ) {
    this.#calls = new Calls(deployment, signer, options);
    const allow = (token: Uint8Array, amount: bigint): Promise<bigint> => this.#allow(token, amount);
    this.duties = new DutyClient(this.#calls, allow);
    this.keys = new KeysClient(this.#calls);
    this.delivery = new DeliveryClient(this.#calls, allow);
    this.snp = new SnpClient(this.#calls);
  }

  /** The one EIP-712 domain of all that is signed for jobs here. */
  get domain(): Digest {
    const { chainId, settlement } = this.deployment;
    return domainSeparator({ chainId, verifyingContract: addressBytes(settlement) });
  }

  /** What is safe on this kind of chain. */
  get settings(): ChainSettings {
    return this.#calls.settings;
  }

  /** @param atBlock  number of the block whose state is asked for; absent: the latest */
  job(terms: Terms, atBlock?: number): Promise<JobView> {
    return this.#calls.job(terms, atBlock);
  }

  /** The block that may be acted on, and the job's state there: the finalised one, but on a local chain the newest. */
  async settled(terms: Terms): Promise<{ readonly block: Block; readonly job: JobView }> {
    const block = await this.#calls.acting();
    return { block, job: await this.job(terms, block.number) };
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
      // An acceptance that was on its way has locked what was free.
      await this.#stakeUpTo(terms.token, terms.stake, (block) => this.#mayBeAccepted(terms, block));
      return this.#contract.accept.populateTransaction(termsStruct(terms), seedCommit, award);
    });
  }

  /** From here on the provider owes a run, and the key of the Release, if it names one, may seal it. */
  start(terms: Terms, release: SignedRelease, appraisals: readonly SignedAppraisal[] = []): Promise<TxReceipt> {
    const done = () => this.#calls.entered('Started', terms);
    return this.#calls.once('start', done, () =>
      this.#contract.start.populateTransaction(
        termsStruct(terms),
        grantStruct(release),
        approvalStructs(terms, appraisals),
      ),
    );
  }

  /** The provider gives the job back: price to the client, stake to the provider. */
  resign(terms: Terms): Promise<TxReceipt> {
    return this.#calls.ending('resign', terms, ['Resigned'], () =>
      this.#contract.resign.populateTransaction(termsStruct(terms)),
    );
  }

  /** Asks the provider to stop: it may then commit a prefix. */
  stop(terms: Terms): Promise<TxReceipt> {
    const done = async () =>
      (await this.job(terms)).stopRequested ? this.#calls.find('JobStopRequested', terms) : undefined;
    return this.#calls.once('stop', done, () => this.#contract.stop.populateTransaction(termsStruct(terms)));
  }

  commit(terms: Terms, run: CommittedRun): Promise<TxReceipt> {
    const done = () => this.#calls.entered('Committed', terms);
    return this.#calls.once('commit', done, () =>
      this.#contract.commit.populateTransaction(termsStruct(terms), {
        ...run,
        borders: [...run.borders],
        keys: run.keys.map(checksummed),
      }),
    );
  }

  /** What the committed run was, from the event. @throws Rejection CHAIN_EVENT before there is one */
  async committed(terms: Terms): Promise<CommittedEvent> {
    const { args, txHash, blockNumber } = await this.#calls.requiredLog('JobCommitted', terms);
    const list = (name: string): Uint8Array[] =>
      [...(args.getValue(name) as readonly string[])].map((one) => fromHex(one.toLowerCase()));
    return {
      ...{ txHash, blockNumber, outcome: Number(args['outcome']), root: String(args['root']) },
      ...{ delivery: fromHex(String(args['delivery'])), sealer: addressBytes(String(args['sealer'])) },
      ...{ keys: list('keys'), borders: list('borders') },
    };
  }

  /** The transaction that ended the job; undefined while it goes on. */
  ended(terms: Terms): Promise<TxReceipt | undefined> {
    return this.#calls.find('JobEnded', terms);
  }

  /**
   * Ends a committed job whose time has come: pays, or gives everything back where the seal was taken away. `revealed`
   * opens the delivery; the key is shown only once no reorganisation can bring the windows back.
   * @throws Rejection CHAIN_NOT_FINAL while one could
   */
  async finalize(
    terms: Terms,
    revealed?: { readonly ciphertextDigest: Digest; readonly key: Uint8Array },
  ): Promise<TxReceipt> {
    const { ciphertextDigest, key } = revealed ?? { ciphertextDigest: zeroWord, key: zeroWord };
    if (revealed !== undefined && this.settings.actsAt === 'finalized') await this.#requireFinal(terms);
    return this.#calls.ending('finalize', terms, ['Settled', 'Stopped', 'Unsealed'], () =>
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

  voucher(terms: Terms, cumulative: bigint, signature: Uint8Array): Promise<TxReceipt> {
    const done = async () =>
      (await this.job(terms)).paid >= cumulative ? this.#calls.required('VoucherPaid', terms) : undefined;
    return this.#calls.once('voucher', done, () =>
      this.#contract.voucher.populateTransaction(termsStruct(terms), cumulative, signature),
    );
  }

  /** FULL without REVEAL: pays for the first `segments` segments, all proved, less the holdback, after `hold`. */
  claimPrefix(terms: Terms, segments: number): Promise<TxReceipt> {
    const gross = (terms.price * BigInt(segments)) / BigInt(terms.segments);
    const due = (gross * BigInt(10_000 - terms.holdbackBps)) / 10_000n;
    const done = async () =>
      due > 0n && (await this.job(terms)).paid >= due ? this.#calls.required('PrefixPaid', terms) : undefined;
    return this.#calls.once('claimPrefix', done, () =>
      this.#contract.claimPrefix.populateTransaction(termsStruct(terms), segments),
    );
  }

  /** Deposits what the free stake lacks of `target`; repeated, by whichever process of the account, it deposits nothing more. */
  stakeUpTo(token: Uint8Array, target: bigint): Promise<TxReceipt | undefined> {
    return this.#stakeUpTo(token, target, async () => true);
  }

  /** What the free stake has above `target` becomes credit. */
  async stakeDownTo(token: Uint8Array, target: bigint): Promise<TxReceipt | undefined> {
    const me = await this.signer.getAddress();
    if ((await this.stakeOf(me, token)).free <= target) return undefined;
    return this.#calls.sendAlone('releaseStake', async (block) => {
      const { free } = await this.stakeOf(me, token, block);
      if (free <= target) return undefined;
      return this.#contract.releaseStake.populateTransaction(checksummed(token), free - target);
    });
  }

  /** @param atBlock  number of the block whose state is asked for; absent: the latest */
  async stakeOf(who: string, token: Uint8Array, atBlock?: number): Promise<{ free: bigint; locked: bigint }> {
    const at = atBlock === undefined ? {} : { blockTag: atBlock };
    const { free, locked } = await this.#calls.read('stakes', () => this.#contract.stakes(who, checksummed(token), at));
    return { free, locked };
  }

  creditOf(who: string, token: Uint8Array): Promise<bigint> {
    return this.#calls.read('credits', () => this.#contract.credits(who, checksummed(token)));
  }

  /** Takes out the signer's whole credit. @param to who gets it; absent: the signer @returns undefined when there is none */
  async withdraw(token: Uint8Array, to?: Uint8Array): Promise<TxReceipt | undefined> {
    const me = await this.signer.getAddress();
    if ((await this.creditOf(me, token)) === 0n) return undefined;
    const receiver = to === undefined ? me : checksummed(to);
    return this.#calls.send('withdrawTo', () =>
      this.#contract.withdrawTo.populateTransaction(checksummed(token), receiver),
    );
  }

  get #contract() {
    return this.#calls.settlement;
  }

  async #mayBeAccepted(terms: Terms, block: number): Promise<boolean> {
    const { timestamp } = await this.#calls.block(block);
    return timestamp <= terms.acceptBy && (await this.job(terms, block)).state === 'Open';
  }

  /** @param isWanted  whether the stake is still needed by the state of a block */
  async #stakeUpTo(
    token: Uint8Array,
    target: bigint,
    isWanted: (block: number) => Promise<boolean>,
  ): Promise<TxReceipt | undefined> {
    const me = await this.signer.getAddress();
    const lacks = async (block?: number): Promise<bigint> => target - (await this.stakeOf(me, token, block)).free;
    const lacking = await lacks();
    if (lacking <= 0n) return undefined;
    const value = await this.#allow(token, lacking);
    return this.#calls.sendAlone('depositStake', async (block) => {
      const still = await lacks(block);
      if (still <= 0n || !(await isWanted(block))) return undefined;
      const amount = still < lacking ? still : lacking;
      const sent = { value: value === 0n ? 0n : amount };
      return this.#contract.depositStake.populateTransaction(checksummed(token), amount, sent);
    });
  }

  async #requireFinal(terms: Terms): Promise<void> {
    const { block, job } = await this.settled(terms);
    if (job.state === 'Committed' && block.timestamp > finalFrom(terms, job)) return;
    const now = await this.job(terms);
    // Of an ended job nothing is shown that the chain has not seen.
    if (now.state === 'Committed') throw notFinal(block, finalFrom(terms, now));
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

function notFinal({ number, timestamp }: Block, until: number): Rejection {
  return new Rejection('CHAIN_NOT_FINAL', {
    expected: `a finalised block after ${until}`,
    got: `block ${number} of ${timestamp}`,
    rule: 'contracts/SPEC.md §19',
    action: 'wait: until then a reorganisation could take the payment back and leave the key public',
  });
}
