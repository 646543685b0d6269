/** What was taken back in the log since: an export that the reader made of a newer log, held against a bundle. */
import { sha256 } from '@noble/hashes/sha2.js';
import type { AttestationResult } from '../appraisal/appraise.js';
import { concatBytes, equalBytes, fromHex } from '../base/bytes.js';
import { dateOf } from '../base/date.js';
import { Rejection } from '../base/errors.js';
import type { CheckBook } from '../check/checks.js';
import {
  checkInclusion,
  leafHash,
  parseCheckpoint,
  parseEntry,
  trustCheckpoint,
  verifyEntry,
  type EntryBody,
  type LogExport,
  type LogProof,
  type TrustPolicy,
} from '../log/index.js';
import { mismatch } from './bundle-context.js';
import type { BundleCode } from './bundle-rules.js';
import type { SpokenParts } from './bundle-words.js';

/** What a bundle rests on, and until when. */
interface Revocable {
  /** Keys of the issuers of its log entries. */
  readonly issuers: readonly Uint8Array[];
  readonly policy: Uint8Array;
  readonly broker: Uint8Array;
  readonly results: readonly AttestationResult[];
  /** Unix seconds that the newest of its log entries says; null where it has none. */
  readonly loggedAt: number | null;
  /** Largest tree that the bundle shows of each log. */
  readonly sizes: ReadonlyMap<string, number>;
}

type Revocation = EntryBody<'revocation'> & { readonly issuer: string };

interface LoggedKey {
  readonly kid: Uint8Array;
  readonly origin: string;
  readonly at: number;
  readonly proof: LogProof;
}

export function revocable(
  { spec, terms }: Pick<SpokenParts, 'spec' | 'terms'>,
  results: readonly AttestationResult[],
  entries: readonly LoggedKey[],
): Revocable {
  return {
    ...{ issuers: entries.map(({ kid }) => kid), policy: spec.policyDigest, broker: terms.keyBroker, results },
    loggedAt: entries.length === 0 ? null : Math.max(...entries.map(({ at }) => at)),
    sizes: new Map(entries.map(({ origin, proof }) => [origin, proof.checkpoint.size])),
  };
}

/** Settles LOG_REVOKED. @param lastSeen  unix seconds of the newest checkpoint of the bundle; null: nobody saw it */
export async function checkRevoked(
  book: CheckBook<BundleCode>,
  given: LogExport | undefined,
  trust: TrustPolicy | undefined,
  about: Revocable,
  lastSeen: number | null,
): Promise<void> {
  if (given === undefined || trust === undefined) {
    const since = lastSeen === null ? 'the bundle was made' : said(lastSeen);
    book.settle('LOG_REVOKED', 'warned', `not asked since ${since}`);
    return;
  }
  try {
    const { origin, size, witnessedAt, revocations } = await read(given, trust);
    const hit = revocations.find((one) => one.from <= timeOf(about, lastSeen) && names(one, about));
    const until = witnessedAt === null ? `${size} entries` : said(witnessedAt);
    if (hit !== undefined) {
      const { what, reason, from, issuer } = hit;
      book.settle('LOG_REVOKED', 'refused', `${what} taken back from ${said(from)} by ${issuer}: ${reason}`);
    } else if (trust.quorum !== null && witnessedAt === null) {
      book.settle('LOG_REVOKED', 'warned', `an export of ${size} entries that no quorum saw`);
    } else if (size < (about.sizes.get(origin) ?? Infinity)) {
      book.settle('LOG_REVOKED', 'warned', `an export of ${origin} with ${size} entries: older than the bundle`);
    } else {
      const unasked = [...about.sizes.keys()].filter((one) => one !== origin).map((one) => `; not asked: ${one}`);
      const words = `${revocations.length} revocations in ${origin} by ${until}, none of this bundle${unasked.join('')}`;
      book.settle('LOG_REVOKED', unasked.length === 0 ? 'met' : 'warned', words);
    }
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    await book.attempt('LOG_REVOKED', () => Promise.reject(error));
  }
}

/** Of a job without sessions the log alone has a time; where it has none either, no revocation is known to be later. */
function timeOf({ results, loggedAt }: Revocable, lastSeen: number | null): number {
  if (results.length > 0) return Math.max(...results.map(({ at }) => at));
  return lastSeen ?? loggedAt ?? Infinity;
}

async function read({ note, revocations }: LogExport, trust: TrustPolicy) {
  const checkpoint = parseCheckpoint(note);
  const { witnessedAt } = trustCheckpoint(checkpoint, trust);
  const found: Revocation[] = [];
  let last = -1;
  for (const { entry, index, path } of revocations) {
    if (index <= last) throw mismatch('LOG_ORDER', `an entry after ${last}`, `${index}`);
    last = index;
    checkInclusion(leafHash(entry), index, checkpoint, path);
    const { issuer, kind, ...shown } = await verifyEntry(entry, parseEntry(entry).kid);
    if (shown.class !== 'public' || kind !== 'revocation') throw mismatch('LOG_ENTRY_KIND', 'revocation', kind);
    found.push({ ...(shown.body as EntryBody<'revocation'>), issuer });
  }
  return { origin: checkpoint.origin, size: checkpoint.size, witnessedAt, revocations: found };
}

function names({ what, id, salt }: Revocation, { issuers, policy, broker, results }: Revocable): boolean {
  const instances = results.flatMap(({ instance }) => instance ?? []);
  const held: Readonly<Record<Revocation['what'], readonly Uint8Array[]>> = {
    issuer: issuers,
    policy: [policy],
    broker: [broker],
    measurement: instances.map(({ measurement }) => fromHex(measurement)),
    chip: instances.flatMap(({ chip }) => (chip === undefined ? [] : [fromHex(chip)])),
  };
  return held[what].some((one) => equalBytes(id, salt === null ? one : sha256(concatBytes(salt, one))));
}

function said(seconds: number): string {
  return dateOf(`${seconds * 1000}`) ?? `${seconds}`;
}
