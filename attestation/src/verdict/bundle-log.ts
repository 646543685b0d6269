/** What the transparency log shows of a bundle: which entries, under which checkpoints, and who saw them when. */
import { sha256 } from '@noble/hashes/sha2.js';
import { weakestTier } from '../appraisal/appraise.js';
import { recoverAddress } from '../base/address.js';
import { equalBytes, isZero, toHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import type { CheckBook, Tier } from '../check/checks.js';
import {
  checkConsistency,
  checkInclusion,
  earlySeconds,
  entryTag,
  isLoggedBefore,
  issuerDigest,
  leafHash,
  openEntry,
  parseEntry,
  parseLogProof,
  signaturesOf,
  trustCheckpoint,
  verifyEntry,
  type EntryBody,
  type LoggedAt,
  type LogProof,
  type TrustedCheckpoint,
  type TrustPolicy,
} from '../log/index.js';
import { bundleDigest } from '../records/bundle.js';
import type { BundledEntry, BundledLog } from '../records/bundle-log.js';
import { keysDigest } from '../records/key-binding.js';
import { dateOf } from '../base/date.js';
import { mismatch } from './bundle-context.js';
import type { BundleCode } from './bundle-rules.js';
import { statusOfResult, type SpokenParts } from './bundle-words.js';
import { checkImages } from './log-image.js';
import { checkRevoked, revocable } from './log-revocations.js';
import { logRules, type LogCode } from './log-rules.js';
import type { LogAsked, ShownLog } from './shown-log.js';

const delaySecondsMost = 3600;

/** Kinds that say something of a job; others are no part of a bundle. */
const kinds = ['job-bundle', 'key-release', 'policy', 'image', 'issuer'] as const;
type Kind = (typeof kinds)[number];
type Said = { readonly [K in Kind]: { readonly kind: K; readonly body: EntryBody<K> } }[Kind];

type ReadEntry = Said &
  LoggedAt & {
    readonly issuer: string;
    readonly kid: Uint8Array;
    readonly tags: readonly Uint8Array[];
    readonly nonce: Uint8Array;
    readonly proof: LogProof;
  };

interface LogContext extends SpokenParts {
  readonly log: BundledLog | undefined;
}

/**
 * Settles the checks of the log.
 * @returns null where nothing was logged
 */
export async function checkLog(
  book: CheckBook<BundleCode>,
  context: LogContext,
  { trust, logExport, results }: LogAsked,
): Promise<ShownLog | null> {
  const { log } = context;
  if (log === undefined) {
    dropLog(book, 'LOG_BUNDLE', 'LOG_REVOKED');
    book.settle('LOG_BUNDLE', trust === undefined ? 'warned' : 'missing', 'not logged');
    if (logExport === undefined) book.drop('LOG_REVOKED');
    else await checkRevoked(book, logExport, trust, revocable(context, results, []), null);
    return null;
  }
  const read = await book.derive(
    'LOG_ENTRIES',
    () => readEntries(log, context),
    (all) => all.map(({ kind, index }) => `${kind} at ${index}`).join(', '),
  );
  if (read === undefined) return null;
  const trusted = await checkCheckpoints(book, log, read, trust);
  const entries = read.map((entry, at) => ({ ...entry, witnessedAt: trusted[at]?.witnessedAt ?? null }));
  checkBundle(book, context, log, entries, trust);
  checkReleases(book, context, entries, trust);
  checkPolicyEntry(book, context, entries, trust);
  checkImages(book, results, ofKind(entries, 'image'), ofKind(entries, 'key-release'), trust !== undefined);
  await checkRevoked(book, logExport, trust, revocable(context, results, entries), entries.at(-1)!.witnessedAt);
  const common = trusted.map(({ independent }) => independent);
  return {
    origins: [...new Set(entries.map(({ origin }) => origin))],
    entries: entries.map(({ kind, issuer, index, at, witnessedAt }) => ({ kind, issuer, index, at, witnessedAt })),
    unchecked: read.flatMap(({ proof: { checkpoint } }, place) => (hasUnknown(checkpoint, trust) ? [place] : [])),
    independent: (common[0] ?? []).filter((one) => common.every((all) => all.includes(one))),
  };
}

/** Versions of a bundle that have no log have no check of it. */
export function dropLog(book: CheckBook<BundleCode>, ...but: readonly LogCode[]): void {
  for (const code of Object.keys(logRules) as LogCode[]) if (!but.includes(code)) book.drop(code);
}

/** The outcome that the key broker's signed results give a bundle, which its entry repeats. */
export function resultsTier(sessions: readonly { readonly result: Uint8Array }[]): Tier {
  const known: readonly string[] = ['affirming', 'warning', 'contraindicated'];
  const said = sessions.map(({ result }) => readStatus(result));
  return weakestTier(said.map((status) => (known.includes(status) ? (status as Tier) : 'none')));
}

/** A result that cannot be read gives none; whose it is, and that it can be read, is another check. */
function readStatus(result: Uint8Array): string {
  try {
    return statusOfResult(result);
  } catch (error) {
    if (error instanceof Rejection) return 'none';
    throw error;
  }
}

async function readEntries(log: BundledLog, context: LogContext): Promise<ReadEntry[]> {
  const entries: ReadEntry[] = [];
  for (const bundled of log.entries) {
    const proof = parseLogProof(bundled.proof);
    checkInclusion(leafHash(bundled.entry), proof.index, proof.checkpoint, proof.path);
    const head = await verifyEntry(bundled.entry, parseEntry(bundled.entry).kid);
    const { issuer, kid, at } = head;
    const [tags, nonce] = head.class === 'sealed' ? [head.tags, head.nonce] : [[], new Uint8Array()];
    const said = saidBy(head, bundled);
    checkJob(said, context);
    const place = { origin: proof.checkpoint.origin, index: proof.index, witnessedAt: null };
    entries.push({ ...said, ...place, issuer, kid, at, tags, nonce, proof });
  }
  checkOrder(log, entries);
  return entries;
}

function saidBy(head: Awaited<ReturnType<typeof verifyEntry>>, { opening }: BundledEntry): Said {
  const { kind } = head;
  const isOpened = (head.class === 'sealed') === (opening !== null);
  if (!isOpened)
    throw mismatch('LOG_OPENING', head.class === 'sealed' ? 'an opening' : 'no opening', `${kind} without`);
  if (head.class === 'public' && (kind === 'policy' || kind === 'image' || kind === 'issuer')) {
    return { kind, body: head.body } as Said;
  }
  if (head.class === 'sealed' && opening !== null && (kind === 'job-bundle' || kind === 'key-release')) {
    return { kind, body: openEntry(head, kind, opening) } as Said;
  }
  throw mismatch('LOG_ENTRY_KIND', `one of ${kinds.join(', ')}`, kind);
}

/** An entry of another job, put into this one's bundle, is nothing that a log has of it. Images: `checkImages`. */
function checkJob(said: Said, { escrowId, spec, terms }: LogContext): void {
  if (said.kind === 'image') return;
  const [expected, got] =
    said.kind === 'job-bundle'
      ? [escrowId, said.body.escrow]
      : said.kind === 'key-release'
        ? [escrowId, said.body.job]
        : said.kind === 'policy'
          ? [spec.policyDigest, said.body.digest]
          : [terms.keyBroker, said.body.account?.address ?? new Uint8Array()];
  if (!equalBytes(expected, got)) throw mismatch('LOG_FOREIGN', `${said.kind} of ${toHex(expected)}`, toHex(got));
}

/** @throws Rejection LOG_ORDER, LOG_CONSISTENCY */
function checkOrder({ consistency }: BundledLog, entries: readonly ReadEntry[]): void {
  const paths = [...consistency];
  const closed = new Set<string>();
  entries.forEach(({ proof: later }, at) => {
    const earlier = entries[at - 1]?.proof;
    if (earlier === undefined) return;
    const [from, to] = [earlier.checkpoint, later.checkpoint];
    if (from.origin !== to.origin) {
      closed.add(from.origin);
      if (closed.has(to.origin)) throw mismatch('LOG_ORDER', 'the entries of a log together', `${to.origin} again`);
      return;
    }
    if (later.index <= earlier.index || to.size < from.size) {
      throw mismatch('LOG_ORDER', `an entry after ${earlier.index} of ${from.size}`, `${later.index} of ${to.size}`);
    }
    const path = from.size === to.size ? [] : paths.shift();
    if (path === undefined) throw mismatch('LOG_CONSISTENCY', `a path from ${from.size} to ${to.size}`, 'none');
    checkConsistency(from, to, path);
  });
  if (paths.length > 0)
    throw mismatch('LOG_CONSISTENCY', 'a path between two checkpoints each', `${paths.length} more`);
}

async function checkCheckpoints(
  book: CheckBook<BundleCode>,
  { entries: bundled }: BundledLog,
  entries: readonly ReadEntry[],
  trust: TrustPolicy | undefined,
): Promise<readonly TrustedCheckpoint[]> {
  const last = entries.at(-1)!.proof.checkpoint;
  if (trust === undefined) {
    dropTimes(book);
    book.settle('LOG_CHECKPOINT', 'warned', `${last.origin}, ${last.size} entries: you named no log that you trust`);
    return [];
  }
  const known = new Map<string, TrustedCheckpoint>();
  const trusted = (place: number): TrustedCheckpoint => {
    const { proof } = bundled[place]!;
    const note = proof.slice(proof.indexOf('\n\n') + 2);
    const found = known.get(note) ?? trustCheckpoint(entries[place]!.proof.checkpoint, trust);
    known.set(note, found);
    return found;
  };
  try {
    const all = entries.map((_, place) => trusted(place));
    book.settle('LOG_CHECKPOINT', 'met', `${last.origin}, ${last.size} entries`);
    checkWitnesses(book, entries, all, trust);
    return all;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    dropTimes(book);
    const { code, detail } = error;
    if (code === 'LOG_UNKNOWN') book.settle('LOG_CHECKPOINT', 'missing', detail.got, detail.expected);
    else await book.attempt('LOG_CHECKPOINT', () => Promise.reject(error));
    return [];
  }
}

/** Whether it carries a signature by a key that the reader did not name. */
function hasUnknown({ note }: LogProof['checkpoint'], trust: TrustPolicy | undefined): boolean {
  const keys = trust === undefined ? [] : [...trust.logs, ...trust.witnesses].map(({ key }) => key);
  const known = keys.reduce((count, key) => count + signaturesOf(note, key).length, 0);
  return note.signatures.length > known;
}

function dropTimes(book: CheckBook<BundleCode>): void {
  book.drop('LOG_WITNESSES');
  book.drop('LOG_TIME');
}

function checkWitnesses(
  book: CheckBook<BundleCode>,
  entries: readonly ReadEntry[],
  trusted: readonly TrustedCheckpoint[],
  { quorum }: TrustPolicy,
): void {
  if (quorum === null) {
    book.settle('LOG_WITNESSES', 'warned', 'the log’s word alone: the trust policy asks for no witness');
    book.drop('LOG_TIME');
    return;
  }
  const expected = `the quorum ${quorum} behind every checkpoint`;
  const unseen = trusted.findIndex(({ witnessedAt }) => witnessedAt === null);
  if (unseen >= 0) {
    const { sightings } = trusted[unseen]!;
    const by = sightings.map(({ witness }) => witness).join(', ') || 'nobody';
    book.settle('LOG_WITNESSES', 'refused', `entry ${entries[unseen]!.proof.index} seen by ${by}`, expected);
    book.drop('LOG_TIME');
    return;
  }
  const { sightings, independent } = trusted.at(-1)!;
  const others = `${independent.length} independent${independent.length > 0 ? `: ${independent.join(', ')}` : ''}`;
  book.settle('LOG_WITNESSES', 'met', `${sightings.length} of the trust policy, ${others}`, expected);
  checkTimes(book, entries, trusted);
}

function checkTimes(
  book: CheckBook<BundleCode>,
  entries: readonly ReadEntry[],
  trusted: readonly TrustedCheckpoint[],
): void {
  const delays = entries.map(({ at }, place) => trusted[place]!.witnessedAt! - at);
  const [least, most] = [Math.min(...delays), Math.max(...delays)];
  const indexOf = (delay: number): number => entries[delays.indexOf(delay)]!.proof.index;
  if (least < -earlySeconds) {
    book.settle('LOG_TIME', 'forged', `entry ${indexOf(least)} seen ${-least} s before its own time`);
  } else if (most > delaySecondsMost) {
    book.settle('LOG_TIME', 'warned', `entry ${indexOf(most)} seen ${most} s after its own time`);
  } else {
    const last = trusted.at(-1)!.witnessedAt!;
    const at = dateOf(`${last * 1000}`) ?? `${last}`;
    book.settle('LOG_TIME', 'met', `the last one by ${at}, at most ${Math.max(most, 0)} s after its own time`);
  }
}

const ofKind = <K extends Kind>(entries: readonly ReadEntry[], kind: K) =>
  entries.filter((entry): entry is Extract<ReadEntry, { readonly kind: K }> => entry.kind === kind);

function checkBundle(
  book: CheckBook<BundleCode>,
  { bundle, spec }: LogContext,
  { watchKey }: BundledLog,
  entries: readonly ReadEntry[],
  trust: TrustPolicy | undefined,
): void {
  const all = ofKind(entries, 'job-bundle');
  const newest = all.at(-1);
  if (newest === undefined) {
    book.settle('LOG_BUNDLE', trust === undefined ? 'warned' : 'missing', 'no entry of kind job-bundle');
    return;
  }
  const { body, issuer, proof } = newest;
  const tier = resultsTier(bundle.sessions);
  const facts: readonly (readonly [name: string, expected: string, got: string])[] = [
    ['bundle', toHex(bundleDigest(bundle)), toHex(body.bundle)],
    ['policy', toHex(spec.policyDigest), toHex(body.policy)],
    ['tier', tier, body.tier],
    ['outcome', `${bundle.run.outcome}`, `${body.outcome}`],
  ];
  const other = facts.find(([, expected, got]) => expected !== got);
  const isFound = (one: (typeof all)[number]): boolean =>
    watchKey === null || one.tags.some((tag) => equalBytes(tag, entryTag(watchKey, one.nonce)));
  if (other !== undefined) {
    const [name, expected, got] = other;
    book.settle('LOG_BUNDLE', 'forged', `${name} ${got}`, `${name} ${expected}`);
  } else if (!all.every(isFound)) {
    book.settle('LOG_BUNDLE', 'forged', 'another watch key', 'the watch key that finds the entry');
  } else {
    book.settle('LOG_BUNDLE', 'met', `entry ${proof.index} by ${issuer}, ${body.verifier}`);
  }
}

function checkReleases(
  book: CheckBook<BundleCode>,
  context: LogContext,
  entries: readonly ReadEntry[],
  trust: TrustPolicy | undefined,
): void {
  const { bundle, sessions, spec } = context;
  const releases = ofKind(entries, 'key-release');
  const wanted = bundle.sessions.flatMap(({ evidence, grant: { grant, notAfter } }, session) =>
    grant === null ? [] : [{ session, evidence: sha256(evidence), grant, notAfter }],
  );
  const isProved = bundle.sessions.length === 0;
  if (wanted.length === 0 && releases.length === 0 && !(isProved && trust !== undefined)) {
    book.drop('LOG_RELEASES');
    return;
  }
  const bundles = ofKind(entries, 'job-bundle');
  const early = releases.filter(
    (entry) =>
      equalBytes(entry.body.dataset, spec.dataset.id) && bundles.every((later) => isLoggedBefore(entry, later)),
  );
  const toProvers = early.filter(({ body }) => isZero(body.keys)).length;
  const isOf = (entry: (typeof releases)[number], one: (typeof wanted)[number]): boolean =>
    equalBytes(entry.body.keys, keysDigest(sessions[one.session]!.binding)) &&
    equalBytes(entry.body.evidence, one.evidence) &&
    equalBytes(entry.body.grant, one.grant) &&
    entry.body.notAfter === one.notAfter;
  const stranger = releases.find((entry) => !isOfBroker(entry, ofKind(entries, 'issuer')));
  const bare = wanted.find((one) => !early.some((entry) => isOf(entry, one)));
  const unlogged = trust === undefined ? 'warned' : 'refused';
  if (stranger !== undefined) {
    const got = `entry ${stranger.proof.index} by ${stranger.issuer}, key ${toHex(stranger.kid)}`;
    book.settle('LOG_RELEASES', 'forged', got, 'a key that the key broker of the terms signed for');
  } else if (bare !== undefined) {
    const got = `session ${bare.session}: none before the bundle`;
    book.settle('LOG_RELEASES', unlogged, got);
  } else if (isProved && toProvers === 0) {
    book.settle('LOG_RELEASES', unlogged, 'none to a node without a TEE before the bundle');
  } else {
    const provers = toProvers === 0 ? '' : ` to sessions, ${toProvers} to nodes without a TEE`;
    book.settle('LOG_RELEASES', 'met', `${wanted.length} of ${wanted.length}${provers}, by ${releases[0]!.issuer}`);
  }
}

/** That the account of the terms' key broker, which `checkJob` compared, signed for the key at that time. */
function isOfBroker(
  { kid, at }: ReadEntry,
  issuers: readonly Extract<ReadEntry, { readonly kind: 'issuer' }>[],
): boolean {
  return issuers.some(({ body: { key, validFrom, until, account } }) => {
    if (account === null || !equalBytes(key, kid) || at < validFrom || at > until) return false;
    try {
      const signer = recoverAddress(issuerDigest(key, validFrom, until), account.signature);
      return equalBytes(signer, account.address);
    } catch (error) {
      if (error instanceof Rejection) return false;
      throw error;
    }
  });
}

function checkPolicyEntry(
  book: CheckBook<BundleCode>,
  { spec }: LogContext,
  entries: readonly ReadEntry[],
  trust: TrustPolicy | undefined,
): void {
  const [policies, releases] = [ofKind(entries, 'policy'), ofKind(entries, 'key-release')];
  const [digest, first] = [toHex(spec.policyDigest), policies[0]];
  if (first === undefined) {
    book.settle('LOG_POLICY', trust === undefined ? 'warned' : 'missing', 'not logged', digest);
    return;
  }
  const found = policies.find((policy) => releases.every((release) => isLoggedBefore(policy, release)));
  const earlier = releases.find((release) => !isLoggedBefore(first, release));
  if (found === undefined) {
    book.settle('LOG_POLICY', 'refused', `entry ${first.index}, after the release at ${earlier!.index}`, digest);
  } else {
    book.settle('LOG_POLICY', 'met', `entry ${found.index} by ${found.issuer}`, digest);
  }
}
