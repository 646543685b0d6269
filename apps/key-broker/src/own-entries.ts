/** What this broker's key signed in the transparency log beside its policy: made, submitted and found again. */
import { randomBytes } from 'node:crypto';
import { Rejection } from '#attestation/base';
import {
  makeSealedEntry,
  verifyEntry,
  type EntryBody,
  type EntryIssuer,
  type Opening,
  type SealedKind,
  type TrustPolicy,
} from '#attestation/log';
import { fetchProof, readEntriesOf, submitEntry, type FoundEntry } from '#libs/log';

export interface OwnEntries {
  make<K extends SealedKind>(
    kind: K,
    body: EntryBody<K>,
    about: { readonly at: number; readonly watchKeys: readonly Uint8Array[] },
  ): Promise<{ readonly entry: Uint8Array; readonly opening: Opening }>;
  /** Returns once it stands in the log. @throws CodedError LOG_* */
  submit(entry: Uint8Array, withinMs: number): Promise<void>;
  /** Null: the log has it not, or it is another's. @throws CodedError LOG_* */
  indexOf(entry: Uint8Array): Promise<number | null>;
  /**
   * Sealed entries by this key from that index on; every entry there was read, and gives the signed root.
   * @throws CodedError LOG_*
   */
  since(from: number): Promise<readonly FoundEntry[]>;
  /** Entries below need not be in the journal: the data owner accepted that lines are missing. */
  readonly acceptedTo: number;
}

interface OwnLog {
  readonly url: string;
  readonly policy: TrustPolicy;
  readonly issuer: EntryIssuer;
  readonly acceptedTo: number;
}

export function openOwnEntries({ url, policy, issuer, acceptedTo }: OwnLog): OwnEntries {
  return {
    acceptedTo,
    make: (kind, body, { at, watchKeys }) =>
      makeSealedEntry(issuer, kind, body, { at, watchKeys, random: (size) => new Uint8Array(randomBytes(size)) }),
    submit: async (entry, withinMs) => void (await submitEntry(url, entry, policy, { wait: 'integrated', withinMs })),
    async indexOf(entry) {
      try {
        await verifyEntry(entry, issuer.publicKey);
        return (await fetchProof(url, entry, policy)).index;
      } catch (error) {
        if (error instanceof Rejection && !error.code.startsWith('LOG_')) return null;
        if (error instanceof Rejection && error.code === 'LOG_NOT_FOUND') return null;
        throw error;
      }
    },
    since: (from) => readEntriesOf({ url, policy, key: issuer.publicKey }, from),
  };
}
