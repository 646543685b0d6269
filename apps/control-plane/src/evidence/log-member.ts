/** Member `log` of a bundle: what was logged of a job, in the order of the log, and the paths between its checkpoints. */
import { equalBytes, fromBase64, fromHex, Rejection } from '#attestation/base';
import {
  checkConsistency,
  isLoggedBefore,
  leafHash,
  openEntry,
  parseEntry,
  parseLogProof,
  verifyEntry,
  verifyLogProof,
  type EntryBody,
  type LoggedAt,
  type LogProof,
  type SignedCheckpoint,
  type TrustPolicy,
} from '#attestation/log';
import { escrowIdOf, type BundledEntry, type BundledLog, type JobSpec, type Terms } from '#attestation/records';
import type { LogOutboxEntry } from '#libs/persistence';
import type { KeyReleased } from '#libs/wire';

interface Placed extends LoggedAt {
  readonly shown: BundledEntry;
  readonly proof: LogProof;
  readonly kind: string;
}

/** Paths from one size of a log to another. */
type ConsistencyOf = (origin: string, from: number, to: number) => Promise<readonly Uint8Array[]>;

export function ownEntry({ entry, salt, body, proof }: LogOutboxEntry): BundledEntry | null {
  if (entry === null || proof === null) return null;
  const isSealed = salt !== null && body !== null;
  const opening = isSealed ? { salt: new Uint8Array(salt), body: new Uint8Array(body) } : null;
  return { entry: new Uint8Array(entry), opening, proof };
}

export function reportedEntry({ entry, opening, proof }: NonNullable<KeyReleased['logged']>[number]): BundledEntry {
  const opened = opening && { salt: fromHex(opening.salt), body: fromBase64(opening.body) };
  return { entry: fromBase64(entry), opening: opened, proof };
}

/** What nodes report may be of another job, policy or broker, and would turn the verdict on this one's bundle. */
export function isOfJob(
  { entry, opening }: BundledEntry,
  { spec, terms }: { readonly spec: JobSpec; readonly terms: Terms },
): boolean {
  try {
    const read = parseEntry(entry);
    if (read.class === 'sealed') {
      if (read.kind !== 'key-release' || opening === null) return false;
      return equalBytes(openEntry(read, 'key-release', opening).job, escrowIdOf(terms));
    }
    if (read.kind === 'policy') return equalBytes((read.body as EntryBody<'policy'>).digest, spec.policyDigest);
    if (read.kind !== 'issuer') return false;
    const { account } = read.body as EntryBody<'issuer'>;
    return account !== null && equalBytes(account.address, terms.keyBroker);
  } catch (error) {
    if (error instanceof Rejection) return false;
    throw error;
  }
}

const imagesMost = 4;

/** Entries of images of which a launch is in the evidence of a session; whether it is that session's, the verdict looks. */
export function imagesOf(images: readonly BundledEntry[], evidence: readonly Uint8Array[]): BundledEntry[] {
  const isShown = ({ entry }: BundledEntry): boolean => {
    const { kind, ...read } = parseEntry(entry);
    if (read.class !== 'public' || kind !== 'image') return false;
    const { measurements } = read.body as EntryBody<'image'>;
    return measurements.some(({ value }) => evidence.some((bytes) => Buffer.from(bytes).includes(Buffer.from(value))));
  };
  return images.filter(isShown).slice(0, imagesMost);
}

/**
 * Entries that do not hold are left out: they came with a node's report, and would turn the bundle's verdict. So is a
 * policy or image that was logged after the first release, which shows nothing.
 * @throws CollateralError LOG_*; Rejection LOG_CONSISTENCY where the log gives another path
 */
export async function memberOf(
  entries: readonly BundledEntry[],
  watchKey: Uint8Array,
  policy: TrustPolicy,
  consistencyOf: ConsistencyOf,
): Promise<BundledLog> {
  const placed = new Map<string, Placed>();
  for (const shown of entries) {
    const one = await place(shown, policy);
    if (one !== null) placed.set(`${one.index} ${one.origin}`, one);
  }
  const sorted = inOrder([...placed.values()]);
  const releases = sorted.filter(({ kind }) => kind === 'key-release');
  const isOwners = ({ kind }: Placed): boolean => kind === 'policy' || kind === 'image';
  const kept = sorted.filter((one) => !isOwners(one) || releases.every((other) => isLoggedBefore(one, other)));
  const consistency: Uint8Array[][] = [];
  let last: SignedCheckpoint | null = null;
  for (const { checkpoint } of kept.map(({ proof }) => proof)) {
    if (last !== null && last.origin === checkpoint.origin && last.size !== checkpoint.size) {
      const path = [...(await consistencyOf(last.origin, last.size, checkpoint.size))];
      checkConsistency(last, checkpoint, path);
      consistency.push(path);
    }
    last = checkpoint;
  }
  return { watchKey, entries: kept.map(({ shown }) => shown), consistency };
}

/** The entries of a log together, since a log goes on under another name; the log that a witness saw first in front. */
function inOrder(placed: readonly Placed[]): Placed[] {
  const first = new Map<string, number>();
  const seenAt = ({ at, witnessedAt }: Placed): number => witnessedAt ?? at;
  for (const one of placed) first.set(one.origin, Math.min(seenAt(one), first.get(one.origin) ?? Infinity));
  const ofLog = ({ origin }: Placed): number => first.get(origin)!;
  return placed.toSorted(
    (a, b) => ofLog(a) - ofLog(b) || (a.origin === b.origin ? a.index - b.index : a.origin < b.origin ? -1 : 1),
  );
}

async function place(shown: BundledEntry, policy: TrustPolicy): Promise<Placed | null> {
  try {
    const { kind, at } = await verifyEntry(shown.entry, parseEntry(shown.entry).kid);
    const proof = parseLogProof(shown.proof);
    const { witnessedAt } = verifyLogProof(proof, leafHash(shown.entry), policy);
    if (policy.quorum !== null && witnessedAt === null) return null;
    return { shown, proof, kind, at, witnessedAt, index: proof.index, origin: proof.checkpoint.origin };
  } catch (error) {
    if (error instanceof Rejection) return null;
    throw error;
  }
}
