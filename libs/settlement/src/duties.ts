/** Segments that must be proved: challenges, samples, proofs, and what follows when there is none. Settlement §7, §8. */
import { encodeRlp, getBytes, keccak256, type JsonRpcApiProvider } from 'ethers';
import {
  borderPath,
  bordersRoot,
  CollateralError,
  fromHex,
  isZero,
  jobDigest,
  type Digest,
  type Terms,
} from '#attestation';
import type { Calls, TxReceipt } from './calls.js';
import { hex, termsStruct } from './chain.js';
import { sampleOf } from './sample.js';

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

/** As the contract counts them: DRAW_DELAY_BLOCKS, HISTORY_BLOCKS of contracts/src/Duties.sol. */
const drawDelayBlocks = 32;
const historyBlocks = 8191;

export class DutyClient {
  constructor(
    private readonly calls: Calls,
    private readonly allow: (token: Uint8Array, amount: bigint) => Promise<bigint>,
  ) {}

  /** Deposits the bond; it is lost to whoever proves the segment. */
  async challenge(terms: Terms, segment: number): Promise<TxReceipt> {
    const me = await this.calls.signer.getAddress();
    const done = () => this.calls.findDuty('DutyOpened', terms, segment, me);
    return this.calls.once('challenge', done, async () => {
      const value = await this.allow(terms.token, terms.bond);
      return this.#contract.challenge.populateTransaction(termsStruct(terms), segment, { value });
    });
  }

  /**
   * @param borders  all that were committed
   * @param seal     of the Segment between borders `segment` and `segment` + 1
   */
  discharge(terms: Terms, segment: number, borders: readonly Digest[], seal: Uint8Array): Promise<TxReceipt> {
    const transition = {
      before: borders[segment]!,
      afterwards: borders[segment + 1]!,
      pathBefore: [...borderPath(borders, segment)],
      pathAfter: [...borderPath(borders, segment + 1)],
    };
    const done = async () =>
      (await this.isProved(terms, segment)) ? this.calls.findDuty('DutyDischarged', terms, segment) : undefined;
    return this.calls.once('discharge', done, () =>
      this.#contract.discharge.populateTransaction(termsStruct(terms), segment, transition, seal),
    );
  }

  /** Ends a job whose duty was not met in time. */
  async lapse(terms: Terms, segment: number): Promise<TxReceipt> {
    return this.calls.ending('lapse', terms, ['Slashed'], async () => {
      const sample = (await this.sampleOf(terms))?.indexOf(segment) ?? -1;
      return this.#contract.lapse.populateTransaction(termsStruct(terms), segment, Math.max(0, sample));
    });
  }

  /** The bond of a duty that was still open when the job ended. */
  refundBond(terms: Terms, segment: number): Promise<TxReceipt> {
    const done = () => this.calls.findDuty('BondRefunded', terms, segment);
    return this.calls.once('refundBond', done, () =>
      this.#contract.refundBond.populateTransaction(termsStruct(terms), segment),
    );
  }

  /** The enclave key behind the seal is no longer live: its seal stops counting. */
  escalate(terms: Terms): Promise<TxReceipt> {
    const done = () => this.calls.find('Escalated', terms);
    return this.calls.once('escalate', done, () => this.#contract.escalate.populateTransaction(termsStruct(terms)));
  }

  /**
   * Shows that the segment a run called impossible is possible.
   *
   * @param borders  all that were committed
   * @param seal     of the Segment from the last border to `afterwards`
   */
  refute(terms: Terms, borders: readonly Digest[], afterwards: Digest, seal: Uint8Array): Promise<TxReceipt> {
    const upTo = borders.length - 1;
    return this.calls.ending('refute', terms, ['Slashed'], () =>
      this.#contract.refute.populateTransaction(
        termsStruct(terms),
        borders[upTo]!,
        [...borderPath(borders, upTo)],
        afterwards,
        seal,
      ),
    );
  }

  /** @param seedClient  the preimage of Terms.seedCommitClient */
  draw(terms: Terms, seedClient: Uint8Array): Promise<TxReceipt> {
    const done = () => this.calls.find('SampleDrawn', terms);
    return this.calls.once('draw', done, () => this.#contract.draw.populateTransaction(termsStruct(terms), seedClient));
  }

  /** The client stayed silent: the block that was fixed with the commitment decides. */
  drawFallback(terms: Terms): Promise<TxReceipt> {
    const done = () => this.calls.find('SampleDrawn', terms);
    return this.calls.once('drawFallback', done, async () => {
      const header = await this.#drawHeader(terms);
      return this.#contract.drawFallback.populateTransaction(termsStruct(terms), header);
    });
  }

  /**
   * The borders that were committed, from the transaction that published them.
   * @throws Rejection CHAIN_EVENT before the run is committed; CollateralError CHAIN_BORDERS
   */
  async bordersOf(terms: Terms): Promise<readonly Digest[]> {
    const { txHash } = await this.calls.required('JobCommitted', terms);
    const transaction = await this.calls.read('commit', () => this.calls.signer.provider!.getTransaction(txHash));
    const parsed = transaction === null ? null : this.#contract.interface.parseTransaction(transaction);
    const { root } = await this.calls.job(terms);
    const published: unknown = parsed?.name === 'commit' ? parsed.args[1].borders : [];
    const borders = [...(published as readonly string[])].map((border) => getBytes(border));
    if (borders.length > 0 && (isZero(fromHex(root)) || hex(bordersRoot(borders)) === root)) return borders;
    throw new CollateralError('CHAIN_BORDERS', {
      expected: `the borders of ${root} in transaction ${txHash}`,
      got: parsed === null ? 'no such transaction' : `a call of ${parsed.name}`,
      rule: 'settlement §3',
      action: 'ask whoever committed for them',
    });
  }

  isProved(terms: Terms, segment: number): Promise<boolean> {
    return this.calls.read('isProved', () => this.#contract.isProved(jobDigest(terms), segment));
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

  async #viewOf(terms: Terms, segment: number): Promise<Omit<DutyView, 'sample'>> {
    const proved = await this.isProved(terms, segment);
    const { challenger, deadline } = await this.calls.read('challengeOf', () =>
      this.#contract.challengeOf(jobDigest(terms), segment),
    );
    if (BigInt(challenger) === 0n) return { segment, proved, challenger: null, deadline: null };
    return { segment, proved, challenger, deadline: Number(deadline) };
  }

  async #drawHeader(terms: Terms): Promise<Uint8Array> {
    const provider = this.calls.signer.provider as JsonRpcApiProvider;
    const [{ drawBlock }, head] = [await this.calls.job(terms), await provider.getBlockNumber()];
    let number = drawBlock + drawDelayBlocks;
    const next = head + 1;
    if (next > number + historyBlocks) number += Math.floor((next - number - 1) / historyBlocks) * historyBlocks;
    const block = (await this.calls.read('eth_getBlockByNumber', () =>
      provider.send('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]),
    )) as RpcHeader | null;
    if (block === null) throw noHeader(`block ${number}`, `a chain of ${head} blocks`);
    const header = encodeHeader(block);
    if (keccak256(header) !== block.hash) throw noHeader(`the header of ${block.hash}`, keccak256(header));
    return header;
  }
}

type RpcHeader = Readonly<Record<string, string>>;

/** Of the yellow paper and the EIPs after it; what a chain does not have is left out from the end. */
const quantities = ['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'];
const members = [
  ...['parentHash', 'sha3Uncles', 'beneficiary', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom'],
  ...[...quantities, 'extraData', 'mixHash', 'nonce', 'baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed'],
  ...['excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash'],
];
const integers = new Set([...quantities, 'baseFeePerGas', 'blobGasUsed', 'excessBlobGas']);

/** RLP of a block header as a node gives it. */
export function encodeHeader(block: RpcHeader): Uint8Array {
  // Nodes call the beneficiary by several names; it is the one account in a header.
  const beneficiary = Object.values(block).find((value) => /^0x[0-9a-fA-F]{40}$/.test(value)) ?? '0x';
  const named: RpcHeader = { ...block, beneficiary };
  const present = members.filter((name) => named[name] !== undefined && named[name] !== null);
  const words = present.map((name) => (integers.has(name) ? shortest(named[name]!) : named[name]!));
  return getBytes(encodeRlp(words));
}

function shortest(quantity: string): string {
  const value = BigInt(quantity);
  if (value === 0n) return '0x';
  const digits = value.toString(16);
  return hex(getBytes(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`));
}

function noHeader(expected: string, got: string): CollateralError {
  return new CollateralError('CHAIN_HEADER', {
    expected,
    got,
    rule: 'settlement §8',
    action: 'wait for the block, or ask another node',
  });
}
