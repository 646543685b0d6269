/**
 * Segments that must be proved: challenges, samples, proofs, and what follows when there is none.
 * contracts/SPEC.md §7, §8.
 */
import { toBeHex, type JsonRpcApiProvider } from 'ethers';
import { CollateralError, fromHex, Rejection, to0x, type Digest } from '#attestation/base';
import { borderPath, bordersRoot, domainSeparator, escrowIdOf, segmentDigest, type Terms } from '#attestation/records';
import type { Calls, TxReceipt } from './calls.js';
import { addressBytes, addressWord, termsStruct } from './chain.js';
import { headerOf, noHeader } from './header.js';
import { sampleOf } from './sample.js';
import { SplitProofs, type StepSeal } from './split-proofs.js';

/** Where a segment stands among the duties of its job. */
export interface DutyView {
  readonly segment: number;
  readonly proved: boolean;
  /** Who opened it; null: nobody, it is due for its mode. */
  readonly challenger: string | null;
  /** Unix seconds; null: not due. */
  readonly deadline: number | null;
  /** Its first place in the sample; null: not drawn. */
  readonly sample: number | null;
}

/** As the contract counts them: HISTORY_BLOCKS of contracts/src/Duties.sol. */
const historyBlocks = 8191;

export class DutyClient {
  readonly #split: SplitProofs;

  constructor(
    private readonly calls: Calls,
    private readonly allow: (token: Uint8Array, amount: bigint) => Promise<bigint>,
  ) {
    this.#split = new SplitProofs(calls);
  }

  /** Deposits the bond; it is lost to whoever proves the segment. */
  async challenge(terms: Terms, segment: number): Promise<TxReceipt> {
    const me = await this.calls.signer.getAddress();
    const done = async () => {
      const { challenger } = await this.#challengeOf(terms, segment);
      const isMine = BigInt(challenger) === BigInt(me) || (await this.isProved(terms, segment));
      return isMine ? this.calls.find('DutyOpened', terms, [word(segment), addressWord(me)]) : undefined;
    };
    return this.calls.once('challenge', done, async () => {
      const value = await this.allow(terms.token, terms.bond);
      return this.#contract.challenge.populateTransaction(termsStruct(terms), segment, { value });
    });
  }

  /**
   * @param borders  all that were committed
   * @param seal     of the Segment between borders `segment` and `segment` + 1; one in parts is sent as far as it was not
   */
  discharge(terms: Terms, segment: number, borders: readonly Digest[], seal: StepSeal): Promise<TxReceipt> {
    const transition = {
      before: borders[segment]!,
      afterwards: borders[segment + 1]!,
      pathBefore: [...borderPath(borders, segment)],
      pathAfter: [...borderPath(borders, segment + 1)],
    };
    const done = async () =>
      (await this.isProved(terms, segment)) ? this.calls.find('DutyDischarged', terms, [word(segment)]) : undefined;
    const { discharge } = this.#contract;
    return this.calls.once('discharge', done, async () => {
      const said = await this.#split.sealFor(seal, (given) =>
        discharge.staticCall(termsStruct(terms), segment, transition, given),
      );
      return discharge.populateTransaction(termsStruct(terms), segment, transition, said);
    });
  }

  /** Ends a job whose duty was not met in time; without a slash where only the loss of the seal made it due. */
  async lapse(terms: Terms, segment: number): Promise<TxReceipt> {
    return this.calls.ending('lapse', terms, ['Slashed', 'Unsealed'], async () => {
      const sample = (await this.sampleOf(terms))?.indexOf(segment) ?? -1;
      return this.#contract.lapse.populateTransaction(termsStruct(terms), segment, Math.max(0, sample));
    });
  }

  /** The first segment of the run that is neither proved nor challenged; null: there is none. */
  async unmet(terms: Terms): Promise<number | null> {
    const { upTo } = await this.calls.job(terms);
    for (let segment = 0; segment < upTo; segment++) {
      const { proved, challenger } = await this.#viewOf(terms, segment);
      if (!proved && challenger === null) return segment;
    }
    return null;
  }

  /** The bond of a duty that was still open when the job ended. */
  refundBond(terms: Terms, segment: number): Promise<TxReceipt> {
    const done = () => this.calls.find('BondRefunded', terms, [word(segment)]);
    return this.calls.once('refundBond', done, () =>
      this.#contract.refundBond.populateTransaction(termsStruct(terms), segment),
    );
  }

  /**
   * Shows that the segment a run called impossible is possible.
   *
   * @param borders  all that were committed
   * @param seal     of the Segment from the last border to `afterwards`
   */
  refute(terms: Terms, borders: readonly Digest[], afterwards: Digest, seal: StepSeal): Promise<TxReceipt> {
    const upTo = borders.length - 1;
    const [last, path] = [borders[upTo]!, [...borderPath(borders, upTo)]];
    const { refute } = this.#contract;
    return this.calls.ending('refute', terms, ['Slashed'], async () => {
      const said = await this.#split.sealFor(seal, (given) =>
        refute.staticCall(termsStruct(terms), last, path, afterwards, given),
      );
      return refute.populateTransaction(termsStruct(terms), last, path, afterwards, said);
    });
  }

  /**
   * Once the seed is public, whoever could have the commit reorganised could choose another run under the sample that he
   * now knows. So the commit must be final, with the same borders, and its window of finality past, in a block that stays.
   *
   * @param seedClient  the preimage of Terms.seedCommitClient
   * @throws Rejection DRAW_NOT_FINAL before that
   */
  async draw(terms: Terms, seedClient: Uint8Array): Promise<TxReceipt> {
    const done = async () => ((await this.calls.job(terms)).drawn ? this.calls.find('SampleDrawn', terms) : undefined);
    const drawn = await done();
    if (drawn !== undefined) return drawn;
    await this.#requireFinalCommit(terms);
    return this.calls.once('draw', done, () => this.#contract.draw.populateTransaction(termsStruct(terms), seedClient));
  }

  /** The client stayed silent: the block that was fixed with the commitment decides. */
  drawFallback(terms: Terms): Promise<TxReceipt> {
    const done = async () => ((await this.calls.job(terms)).drawn ? this.calls.find('SampleDrawn', terms) : undefined);
    return this.calls.once('drawFallback', done, async () => {
      const header = await this.#drawHeader(terms);
      return this.#contract.drawFallback.populateTransaction(termsStruct(terms), header);
    });
  }

  /**
   * The borders that were committed, from the event that the commit left, whoever sent it.
   * @throws Rejection CHAIN_EVENT before the run is committed; CollateralError CHAIN_BORDERS
   */
  async bordersOf(terms: Terms): Promise<readonly Digest[]> {
    const { args, txHash } = await this.calls.requiredLog('JobCommitted', terms);
    const borders = [...(args['borders'] as readonly string[])].map((border) => fromHex(border));
    const root = String(args['root']);
    if (borders.length > 0 && to0x(bordersRoot(borders)) === root) return borders;
    throw new CollateralError('CHAIN_BORDERS', {
      expected: `the borders of ${root} in the event of ${txHash}`,
      got: borders.length === 0 ? 'none' : to0x(bordersRoot(borders)),
      rule: 'contracts/SPEC.md §3',
      action: 'ask another node',
    });
  }

  isProved(terms: Terms, segment: number): Promise<boolean> {
    const { duties, deployment } = this.calls;
    return this.calls.read('isProved', () => duties.isProved(deployment.settlement, escrowIdOf(terms), segment));
  }

  /** Hashes of the transactions that proved segments; of a proof in two, whoever sent them. */
  async transactionsOfProofs(terms: Terms): Promise<readonly string[]> {
    const { upTo } = await this.calls.job(terms);
    const segments = Array.from({ length: upTo }, (_, segment) => segment);
    const found = await Promise.all(segments.map((one) => this.calls.find('DutyDischarged', terms, [word(one)])));
    const parts = await this.#split.sentFor(upTo === 0 ? [] : await this.#statements(terms, segments));
    return [...new Set([...found.flatMap((event) => (event === undefined ? [] : [event.txHash])), ...parts])];
  }

  /** Of these transactions, together. */
  async gasOfProofs(terms: Terms): Promise<number> {
    const hashes = await this.transactionsOfProofs(terms);
    return this.calls.read('eth_getTransactionReceipt', async () => {
      const receipts = await Promise.all(hashes.map((hash) => this.calls.provider.getTransactionReceipt(hash)));
      return receipts.reduce((sum, receipt) => sum + Number(receipt!.gasUsed), 0);
    });
  }

  /** Segments in the order of the sample, repeated where they were drawn twice; null before the draw. */
  async sampleOf(terms: Terms): Promise<readonly number[] | null> {
    const { drawn, seed, upTo } = await this.calls.job(terms);
    return drawn ? sampleOf(seed, terms.samples, upTo) : null;
  }

  /** Drawn segments whose proof the contract has not seen, each once; null before the draw. */
  async undischarged(terms: Terms): Promise<readonly number[] | null> {
    const sample = await this.sampleOf(terms);
    if (sample === null) return null;
    const drawn = [...new Set(sample)].sort((a, b) => a - b);
    const proved = await Promise.all(drawn.map((segment) => this.isProved(terms, segment)));
    return drawn.filter((_, i) => !proved[i]);
  }

  /** Every segment that is due or was proved. */
  async list(terms: Terms): Promise<readonly DutyView[]> {
    const [job, sample] = [await this.calls.job(terms), await this.sampleOf(terms)];
    const views = await Promise.all(Array.from({ length: job.upTo }, (_, segment) => this.#viewOf(terms, segment)));
    return views
      .map((view): DutyView => {
        const place = sample?.indexOf(view.segment) ?? -1;
        const isSetDuty = job.allDue || place >= 0;
        const deadline = view.deadline ?? (isSetDuty ? job.setDeadline : null);
        return { ...view, deadline, sample: place < 0 ? null : place };
      })
      .filter(({ proved, deadline }) => proved || deadline !== null);
  }

  get #contract() {
    return this.calls.settlement;
  }

  /** EIP-712 digests of these segments of the run that was committed. */
  async #statements(terms: Terms, segments: readonly number[]): Promise<readonly Digest[]> {
    const { chainId, settlement } = this.calls.deployment;
    const domain = domainSeparator({ chainId, verifyingContract: addressBytes(settlement) });
    const [borders, job] = [await this.bordersOf(terms), escrowIdOf(terms)];
    return segments.map((index) =>
      segmentDigest(domain, { job, index, weightsBefore: borders[index]!, weightsAfter: borders[index + 1]! }),
    );
  }

  async #viewOf(terms: Terms, segment: number): Promise<Omit<DutyView, 'sample'>> {
    const proved = await this.isProved(terms, segment);
    const { challenger, deadline } = await this.#challengeOf(terms, segment);
    if (BigInt(challenger) === 0n) return { segment, proved, challenger: null, deadline: null };
    return { segment, proved, challenger, deadline: Number(deadline) };
  }

  #challengeOf(terms: Terms, segment: number): Promise<{ readonly challenger: string; readonly deadline: bigint }> {
    const { duties, deployment } = this.calls;
    return this.calls.read('challengeOf', () => duties.challengeOf(deployment.settlement, escrowIdOf(terms), segment));
  }

  /** @throws Rejection DRAW_NOT_FINAL */
  async #requireFinalCommit(terms: Terms): Promise<void> {
    const block = await this.calls.acting();
    const [then, now] = [await this.calls.job(terms, block.number), await this.calls.job(terms)];
    const isSame = then.state === 'Committed' && then.root === now.root;
    // What is not committed or not sampled the contract refuses with its own word.
    if (now.state !== 'Committed' || !now.sampleDue || (isSame && block.timestamp >= now.drawFrom)) return;
    throw new Rejection('DRAW_NOT_FINAL', {
      expected: `this run committed in a final block, and a final block of ${now.drawFrom} or later`,
      got: `block ${block.number} of ${block.timestamp}, ${isSame ? 'too early' : then.state}`,
      rule: 'contracts/SPEC.md §8',
      action: 'wait: a seed shown earlier would let the run be chosen to fit the sample',
    });
  }

  async #drawHeader(terms: Terms): Promise<Uint8Array> {
    const provider = this.calls.signer.provider as JsonRpcApiProvider;
    const [{ drawBlock }, head] = [await this.calls.job(terms), await provider.getBlockNumber()];
    let number = drawBlock;
    const next = head + 1;
    if (next > number + historyBlocks) number += Math.floor((next - number - 1) / historyBlocks) * historyBlocks;
    if (number > head) throw noHeader(`block ${number}`, `a chain of ${head} blocks`);
    return this.calls.read('eth_getBlockByNumber', () => headerOf(provider, number));
  }
}

/** An indexed number as it stands among an event's topics. */
const word = (value: number): string => toBeHex(value, 32);
