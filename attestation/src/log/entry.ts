/**
 * Entries: COSE_Sign1 by their issuer. A sealed entry commits to its body and carries tags that only holders of a watch
 * key recognise; a public one has its body in clear. Randomness and time are arguments.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, equalBytes, toHex, utf8 } from '../base/bytes.js';
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { readSign1, signSign1, verifySign1 } from '../base/cose.js';
import { taggedDigest, type Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import { bytes, checkLength, list, oneOf, record, toCbor, uint } from '../base/shape.js';
import {
  encodeBody,
  isPublicKind,
  isSealedKind,
  publicBody,
  readBody,
  unknownKind,
  type EntryBody,
  type EntryKind,
  type PublicKind,
  type SealedKind,
} from './bodies.js';
import { entryBytesMax } from '../base/limits.js';

const contentType = 'application/veritrain-log-entry+cbor';
const tagBytes = 16;
/** Fewer would tell apart who watches an entry. */
const tagsLeast = 3;
const tagsMost = 8;
const seconds = uint(2 ** 40 - 1);

export interface EntryIssuer {
  readonly name: string;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly sign: (toBeSigned: Uint8Array) => Uint8Array | Promise<Uint8Array>;
}

/** What only its holder can show of a sealed entry; without it nobody can read the entry any more. */
export interface Opening {
  /** 32 bytes. */
  readonly salt: Uint8Array;
  /** Deterministic CBOR. */
  readonly body: Uint8Array;
}

interface EntryHead {
  readonly issuer: string;
  readonly kid: Uint8Array;
  /** Unix seconds, the issuer's word. */
  readonly at: number;
}

export interface SealedEntry extends EntryHead {
  readonly class: 'sealed';
  readonly kind: SealedKind;
  readonly nonce: Uint8Array;
  readonly tags: readonly Uint8Array[];
  readonly commitment: Digest;
}

export interface PublicEntry extends EntryHead {
  readonly class: 'public';
  readonly kind: PublicKind;
  readonly body: EntryBody<PublicKind>;
}

export type LogEntry = SealedEntry | PublicEntry;

const sealedShape = record({
  v: oneOf(1),
  kind: oneOf('job-bundle', 'key-release', 'session-end', 'journal-head', 'journal-import'),
  at: seconds,
  nonce: bytes(16),
  tags: list(bytes(tagBytes), tagsMost),
  commitment: bytes(32),
});

const anyBody = (value: unknown): unknown => value;
const publicShape = record({
  v: oneOf(1),
  kind: oneOf('policy', 'image', 'floors', 'revocation', 'issuer', 'anchor'),
  at: seconds,
  body: anyBody,
});

/** @throws Rejection MESSAGE_SHAPE, MESSAGE_SIZE */
export function makePublicEntry<K extends PublicKind>(
  issuer: EntryIssuer,
  kind: K,
  body: EntryBody<K>,
  at: number,
): Promise<Uint8Array> {
  return signed(issuer, kind, toCbor({ v: 1, kind, at, body }));
}

/**
 * @param random  at least 48 bytes and 16 for every tag, of which nobody else knows any
 * @param watchKeys  32 bytes each: who holds one finds the entry
 * @throws Rejection MESSAGE_SHAPE, MESSAGE_SIZE
 */
export async function makeSealedEntry<K extends SealedKind>(
  issuer: EntryIssuer,
  kind: K,
  body: EntryBody<K>,
  { at, watchKeys, random }: { at: number; watchKeys: readonly Uint8Array[]; random: (size: number) => Uint8Array },
): Promise<{ readonly entry: Uint8Array; readonly opening: Opening }> {
  const opening = { salt: random(32), body: encodeBody(kind, body) };
  const nonce = random(16);
  const tags = watchKeys.map((key) => entryTag(key, nonce));
  while (tags.length < tagsLeast) tags.push(random(tagBytes));
  const commitment = commitmentOf(opening);
  return { entry: await signed(issuer, kind, toCbor({ v: 1, kind, at, nonce, tags, commitment })), opening };
}

async function signed(issuer: EntryIssuer, kind: EntryKind, payload: ReturnType<typeof toCbor>): Promise<Uint8Array> {
  const claims = { issuer: issuer.name, subject: kind };
  const header = { algorithm: 'EdDSA', contentType, keyId: issuer.publicKey, claims } as const;
  const entry = await signSign1(header, encodeCanonical(payload), issuer.sign);
  parseEntry(entry);
  return entry;
}

/**
 * The shape of an entry whose signature nobody has looked at.
 * @throws Rejection MESSAGE_SIZE, COSE_*, CBOR_*, MESSAGE_SHAPE, LOG_ENTRY_KIND, LOG_ENTRY_HEADER
 */
export function parseEntry(entry: Uint8Array): LogEntry {
  const { payload, kid, issuer, subject } = unsigned(entry);
  if (isSealedKind(subject)) {
    const { v: _v, ...shown } = sealedShape(decodeCanonical(payload), 'entry');
    sameKind(shown.kind, subject);
    return { class: 'sealed', issuer, kid, ...shown };
  }
  if (!isPublicKind(subject)) throw unknownKind(subject);
  const { kind, at, body } = publicShape(decodeCanonical(payload), 'entry');
  sameKind(kind, subject);
  return { class: 'public', issuer, kid, kind, at, body: publicBody(kind, body) };
}

function unsigned(entry: Uint8Array) {
  checkLength('log entry', entry, entryBytesMax);
  const message = readSign1(entry, 'tagged', 'with-claims');
  const { keyId: kid, claims, payload } = message;
  if (kid?.length !== 32 || claims === undefined) throw headerFault('a kid of 32 bytes', `${kid?.length ?? 0} bytes`);
  return { message, payload, kid, ...claims };
}

/** @throws Rejection COSE_*, and the codes of `parseEntry` */
export async function verifyEntry(entry: Uint8Array, publicKey: Uint8Array): Promise<LogEntry> {
  const { message } = unsigned(entry);
  await verifySign1(message, { algorithm: 'EdDSA', publicKey, contentType, keyId: publicKey });
  return parseEntry(entry);
}

/** @throws Rejection LOG_OPENING where salt and body are not those of the entry, MESSAGE_SHAPE */
export function openEntry<K extends SealedKind>(entry: SealedEntry, kind: K, opening: Opening): EntryBody<K> {
  sameKind(entry.kind, kind);
  const commitment = commitmentOf(opening);
  if (opening.salt.length === 32 && equalBytes(commitment, entry.commitment)) return readBody(kind, opening.body);
  throw new Rejection('LOG_OPENING', {
    expected: `a body of ${toHex(entry.commitment)}`,
    got: toHex(commitment),
    rule: 'attestation/LOG.md §1',
  });
}

/** 16 bytes. */
export function entryTag(watchKey: Uint8Array, nonce: Uint8Array): Uint8Array {
  return sha256(concatBytes(utf8('veritrain-log-tag/1'), watchKey, nonce)).slice(0, tagBytes);
}

/** What a key broker's account signs, so that its log key is bound to the account that the terms name. */
export function issuerDigest(key: Uint8Array, validFrom: number, until: number): Digest {
  const times = new DataView(new ArrayBuffer(16));
  times.setBigUint64(0, BigInt(validFrom));
  times.setBigUint64(8, BigInt(until));
  return taggedDigest('veritrain/log-issuer/1', key, new Uint8Array(times.buffer));
}

function commitmentOf({ salt, body }: Opening): Digest {
  return sha256(concatBytes(utf8('veritrain-log-commit/1'), salt, body));
}

function sameKind(got: string, expected: string): void {
  if (got !== expected) throw headerFault(`the kind ${expected}`, got);
}

function headerFault(expected: string, got: string): Rejection {
  return new Rejection('LOG_ENTRY_HEADER', { expected, got, rule: 'attestation/LOG.md §1' });
}
