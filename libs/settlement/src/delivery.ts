/**
 * The ciphertext of a sealed result: who misses it, who says that it can be had, its pieces on chain.
 * contracts/SPEC.md §12.
 */
import { createHash } from 'node:crypto';
import { equalBytes, type Digest } from '#attestation/base';
import { chunksOf, ciphertextDigest, type Terms } from '#attestation/records';
import type { Calls, TxReceipt } from './calls.js';
import { termsStruct } from './chain.js';
import { quorumSignatures, type SignatureOf } from './signed.js';

/** What somebody of the terms' list says of a ciphertext. */
interface SignedAvailability {
  /** Unix seconds until which it is kept. */
  readonly until: number;
  /** The key broker's alone, or of max(1, needed) attestors. */
  readonly signatures: readonly SignatureOf[];
}

export class DeliveryClient {
  constructor(
    private readonly calls: Calls,
    private readonly allow: (token: Uint8Array, amount: bigint) => Promise<bigint>,
  ) {}

  /** The client has the ciphertext: nobody need wait for the rest of the ack window. */
  acknowledge(terms: Terms): Promise<TxReceipt> {
    const done = async () =>
      (await this.calls.job(terms)).shown ? this.calls.find('ResultAcknowledged', terms) : undefined;
    return this.calls.once('acknowledge', done, () =>
      this.calls.settlement.acknowledge.populateTransaction(termsStruct(terms)),
    );
  }

  /**
   * The client cannot get the ciphertext; deposits one publishFee. The first complaint is answered by Availability or by
   * publication, the second by publication alone.
   */
  missing(terms: Terms): Promise<TxReceipt> {
    const done = async () =>
      (await this.calls.job(terms)).missing ? this.calls.required('CiphertextMissing', terms) : undefined;
    return this.calls.once('missing', done, async () => {
      const value = await this.allow(terms.token, terms.publishFee);
      return this.calls.settlement.missing.populateTransaction(termsStruct(terms), { value });
    });
  }

  /** Answers the first complaint by the word of the key broker or of attestors. */
  available(terms: Terms, digest: Digest, keyCommit: Digest, said: SignedAvailability): Promise<TxReceipt> {
    return this.#answering('available', terms, () => {
      const broker = said.signatures.find(({ signer }) => equalBytes(signer, terms.keyBroker));
      const signatures = broker === undefined ? quorumSignatures(terms, said.signatures) : [broker.signature];
      return this.calls.settlement.available.populateTransaction(
        ...([termsStruct(terms), digest, keyCommit, said.until, signatures] as const),
      );
    });
  }

  /** Answers a complaint where every piece of the ciphertext was published. */
  published(terms: Terms, digest: Digest, keyCommit: Digest): Promise<TxReceipt> {
    return this.#answering('published', terms, () =>
      this.calls.settlement.published.populateTransaction(termsStruct(terms), digest, keyCommit),
    );
  }

  /**
   * Puts the pieces on chain that are not there yet, one transaction each; anyone may, at any time.
   * @returns one receipt for each piece that was sent
   * @throws Rejection DELIVERY_SIZE where the ciphertext is too large to be published
   */
  async publish(ciphertext: Uint8Array): Promise<readonly TxReceipt[]> {
    const chunks = chunksOf(ciphertext);
    const hashes = chunks.map((chunk) => sha256(chunk));
    const digest = ciphertextDigest(ciphertext);
    const receipts: TxReceipt[] = [];
    for (const [index, chunk] of chunks.entries()) {
      if (await this.isPublished(digest, index)) continue;
      const populate = () => this.calls.delivery.publish.populateTransaction(hashes, ciphertext.length, index, chunk);
      receipts.push(await this.calls.send('publish', populate));
    }
    return receipts;
  }

  /** @param index of a chunk; absent: whether all are there */
  async isPublished(digest: Digest, index?: number): Promise<boolean> {
    const bits = await this.calls.read('publishedChunks', () => this.calls.delivery.publishedChunks(digest));
    return index === undefined ? bits === allBits : ((bits >> BigInt(index)) & 1n) === 1n;
  }

  /** The key that the payment showed; null before. */
  async revealed(
    terms: Terms,
  ): Promise<{ readonly key: string; readonly ciphertextDigest: string; readonly txHash: string } | null> {
    const log = await this.calls.log('KeyRevealed', terms);
    if (log === undefined) return null;
    return { key: String(log.args['key']), ciphertextDigest: String(log.args['ciphertextDigest']), txHash: log.txHash };
  }

  #answering(name: string, terms: Terms, populate: Parameters<Calls['once']>[2]): Promise<TxReceipt> {
    const done = async () =>
      (await this.calls.job(terms)).missing ? undefined : this.calls.find('CiphertextAvailable', terms);
    return this.calls.once(name, done, populate);
  }
}

/** What Delivery holds once every chunk is there. */
const allBits = (1n << 256n) - 1n;

function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(bytes).digest());
}
