/** What one key signed in a log: whoever holds the key looks there for what its own records should have. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CollateralError, toHex } from '#attestation/base';
import { isSealedKind, leafHash, type SealedKind, type TrustedCheckpoint, type TrustPolicy } from '#attestation/log';
import { fetchNote, tilesOf } from './client.js';
import { TileReader } from './tiles/reader.js';
import { readEntries, RightEdge } from './whole.js';

export interface FoundEntry {
  readonly index: number;
  /** Hexadecimal. */
  readonly leaf: string;
  readonly kind: SealedKind;
  /** Unix seconds, as it says itself. */
  readonly at: number;
}

interface OfKey {
  readonly url: string;
  readonly policy: TrustPolicy;
  /** Ed25519, 32 bytes. */
  readonly key: Uint8Array;
}

/** How long a checkpoint may take to be seen by the quorum, milliseconds. */
const seenWithinMs = 10_000;
const pauseMs = 250;

/**
 * Sealed entries by this key from that index on; every entry there is read, and gives the root that was signed.
 * @throws CollateralError LOG_UNREACHABLE, LOG_PENDING, LOG_TILE_MISSING; Rejection LOG_*
 */
export async function readEntriesOf({ url, policy, key }: OfKey, from: number): Promise<readonly FoundEntry[]> {
  const { checkpoint } = await seenCheckpoint(url, policy, from);
  const read = tilesOf(url);
  const edge = new RightEdge(await new TileReader(read, checkpoint.size).perfectRoots(from));
  const found: FoundEntry[] = [];
  await readEntries(checkpoint, read, { edge, from }, ({ kid, kind, at }, index, bytes) => {
    if (toHex(kid) !== toHex(key) || !isSealedKind(kind)) return;
    found.push({ index, leaf: toHex(leafHash(bytes)), kind, at });
  });
  return found;
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
        rule: 'libs/log/README.md',
        action: 'ask again when the log and its witnesses answer',
      });
    }
    await sleep(pauseMs);
  }
}
