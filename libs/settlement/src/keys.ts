/**
 * Which settlement keys may seal a job: bound on a Release and Appraisals, ended by a Revocation.
 * contracts/SPEC.md §10.
 */
import { type Digest } from '#attestation/base';
import { escrowIdOf, type Terms } from '#attestation/records';
import type { Calls, TxReceipt } from './calls.js';
import { addressBytes, addressWord, checksummed, termsStruct } from './chain.js';
import { approvalStructs, grantStruct, quorumSignatures } from './signed.js';
import type { SignatureOf, SignedAppraisal, SignedRelease } from './signed.js';

interface KeyStanding {
  readonly isBound: boolean;
  /** Among the keys behind the committed run. */
  readonly isSealed: boolean;
  readonly isRevoked: boolean;
}

export class KeysClient {
  constructor(private readonly calls: Calls) {}

  /** One more key of the job, while the provider owes the run: a session after the first one. */
  bind(terms: Terms, release: SignedRelease, appraisals: readonly SignedAppraisal[] = []): Promise<TxReceipt> {
    const done = async () =>
      (await this.standing(terms, release.release.key)).isBound ? this.bound(terms, release.release.key) : undefined;
    return this.calls.once('bind', done, () =>
      this.calls.settlement.bind.populateTransaction(
        termsStruct(terms),
        grantStruct(release),
        approvalStructs(terms, appraisals),
      ),
    );
  }

  /** @param key 20 bytes */
  async standing(terms: Terms, key: Uint8Array): Promise<KeyStanding> {
    const { keys, deployment } = this.calls;
    const { isBound, isSealed, isRevoked } = await this.calls.read('factsOf', () =>
      keys.factsOf(deployment.settlement, escrowIdOf(terms), checksummed(key)),
    );
    return { isBound, isSealed, isRevoked };
  }

  /** The key that was bound last, 20 bytes; null where none was. */
  async newest(terms: Terms): Promise<Uint8Array | null> {
    const log = await this.calls.log('KeyBound', terms);
    return log === undefined ? null : addressBytes(String(log.args['key']));
  }

  bound(terms: Terms, key: Uint8Array): Promise<TxReceipt | undefined> {
    return this.calls.find('KeyBound', terms, [addressWord(checksummed(key))]);
  }

  /** Ends a key of one job for good; anyone may send what max(1, needed) of key broker and attestors signed. */
  revoke(terms: Terms, key: Uint8Array, reason: Digest, signatures: readonly SignatureOf[]): Promise<TxReceipt> {
    const { keys, deployment } = this.calls;
    const word = addressWord(checksummed(key));
    const done = async () =>
      (await this.standing(terms, key)).isRevoked ? this.calls.revocation(terms, word) : undefined;
    return this.calls.once('revoke', done, () =>
      keys.revoke.populateTransaction(
        deployment.settlement,
        termsStruct(terms),
        checksummed(key),
        reason,
        quorumSignatures(terms, signatures),
      ),
    );
  }

  /** Takes the seal of a committed run away: `key` stands behind it and has ended, or the seal's selector was retired. */
  unseal(terms: Terms, key: Uint8Array): Promise<TxReceipt> {
    const done = async () =>
      (await this.calls.job(terms)).unsealed ? this.calls.find('SealRemoved', terms) : undefined;
    return this.calls.once('unseal', done, () =>
      this.calls.settlement.unseal.populateTransaction(termsStruct(terms), checksummed(key)),
    );
  }
}
