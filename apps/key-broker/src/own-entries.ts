/** What this broker's key signed in the transparency log beside its policy: made, submitted and found again. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CollateralError, Rejection, toHex } from '#attestation/base';
import {
  isSealedKind,
  leafHash,
  makeSealedEntry,
  verifyEntry,
  type EntryBody,
  type EntryIssuer,
  type Opening,
  type SealedKind,
  type TrustedCheckpoint,
  type TrustPolicy,
} from '#attestation/log';
import { fetchNote, fetchProof, readEntries, RightEdge, submitEntry, TileReader, tilesOf } from '#libs/log';

interface OwnEntry {
  readonly index: number;
  /** Hexadecimal. */
  readonly leaf: string;
  readonly kind: SealedKind;
}

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
  since(from: number): Promise<readonly OwnEntry[]>;
  /** Entries below need not be in the journal: the data owner accepted that lines are missing. */
  readonly acceptedTo: number;
}

interface OwnLog {
  readonly url: string;
  readonly policy: TrustPolicy;
  readonly issuer: EntryIssuer;
  readonly acceptedTo: number;
}

/** How long a checkpoint may take to be seen by the quorum, milliseconds. */
const seenWithinMs = 10_000;
const pauseMs = 250;

export function openOwnEntries({ url, policy, issuer, acceptedTo }: OwnLog): OwnEntries {
  const kid = toHex(issuer.publicKey);
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
    async since(from) {
      const { checkpoint } = await seenCheckpoint(url, policy, from);
      const read = tilesOf(url);
      const edge = new RightEdge(await new TileReader(read, checkpoint.size).perfectRoots(from));
      const found: OwnEntry[] = [];
      await readEntries(checkpoint, read, { edge, from }, (entry, index, bytes) => {
        if (toHex(entry.kid) !== kid || !isSealedKind(entry.kind)) return;
        found.push({ index, leaf: toHex(leafHash(bytes)), kind: entry.kind });
      });
      return found;
    },
  };
}

/** One that the quorum saw: another might be kept from everybody else. */
async function seenCheckpoint(url: string, policy: TrustPolicy, from: number): Promise<TrustedCheckpoint> {
  for (const until = performance.now() + seenWithinMs; ;) {
    const { trusted } = await fetchNote(url, policy);
    const { size } = trusted.checkpoint;
    const isSeen = policy.quorum === null || trusted.witnessedAt !== null || size === 0;
    if (isSeen && size >= from) return trusted;
    if (performance.now() > until) {
      throw new CollateralError('LOG_PENDING', {
        expected: `a checkpoint of ${from} entries or more that the quorum saw`,
        got: `one of ${size}, ${isSeen ? 'seen' : 'not seen'}`,
        rule: 'key broker, journal',
        action: 'ask again when the log and its witnesses answer',
      });
    }
    await sleep(pauseMs);
  }
}
