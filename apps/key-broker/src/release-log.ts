/**
 * Releases in a transparency log: where the data owner demands it, no key leaves before the entry is in the log and seen by
 * the quorum of witnesses. One that no witness saw could still be forked away after the key is out.
 */
import { hkdfSync, randomBytes } from 'node:crypto';
import { CodedError, CollateralError, to0x, toBase64, utf8 } from '#attestation/base';
import { makeSealedEntry, type EntryIssuer, type TrustPolicy } from '#attestation/log';
import type { BundledEntry, Release } from '#attestation/records';
import { submitEntry } from '#libs/log';

export interface ReleaseLog {
  /**
   * Returns once the release stands in the log.
   * @param key  the data key: who has it finds the entries of its data set
   * @returns what the bundle shows of it
   * @throws CollateralError BROKER_LOG: then nothing may be given
   */
  enter(release: Release, key: Uint8Array, at: number): Promise<readonly BundledEntry[]>;
}

interface LogSettings {
  readonly url: string;
  readonly policy: TrustPolicy;
  readonly issuer: EntryIssuer;
  /** The `issuer` entry that binds the log key to the broker's account, and its proof; read at every release. */
  readonly shown: () => readonly BundledEntry[];
}

/** How long a release waits for log and witnesses, milliseconds. */
const withinMs = 10_000;

export function openReleaseLog({ url, policy, issuer, shown }: LogSettings): ReleaseLog {
  return {
    async enter(release, key, at) {
      const { job, dataset, session: keys, evidence, grant, notAfter } = release;
      const body = { job, dataset, keys, evidence, grant, notAfter };
      const about = { at, watchKeys: [watchKeyOf(key)], random: (size: number) => new Uint8Array(randomBytes(size)) };
      const { entry, opening } = await makeSealedEntry(issuer, 'key-release', body, about);
      try {
        const { text, trusted } = await submitEntry(url, entry, policy, { wait: 'witnessed', withinMs });
        if (policy.quorum !== null && trusted.witnessedAt === null) throw unlogged('an entry that no quorum saw');
        return [...shown(), { entry, opening, proof: text }];
      } catch (error) {
        if (error instanceof CodedError && error.code !== 'BROKER_LOG')
          throw unlogged(`${error.code}: ${error.detail.got}`);
        throw error;
      }
    },
  };
}

/** Of a data set: whoever can release its key can find its entries. */
function watchKeyOf(key: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, new Uint8Array(), utf8('veritrain log watch/1'), 32));
}

/** As the API and a node's report have it. */
export function loggedJson(entries: readonly BundledEntry[]): readonly object[] {
  return entries.map(({ entry, opening, proof }) => ({
    entry: toBase64(entry),
    opening: opening && { salt: to0x(opening.salt), body: toBase64(opening.body) },
    proof,
  }));
}

function unlogged(got: string): CollateralError {
  return new CollateralError('BROKER_LOG', {
    expected: 'the release in the transparency log, seen by its witnesses',
    got: got.slice(0, 200),
    rule: 'key broker settings',
    action: 'no key was given; ask again when the log answers',
  });
}
