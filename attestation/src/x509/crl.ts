/** Certificate revocation lists (RFC 5280 §5): parse, who signed, how fresh, who is on it. */
import { copyOf, equalBytes, toHex } from '../base/bytes.js';
import {
  derBitString,
  derCheckDeep,
  derChildren,
  derExpect,
  derInside,
  derInteger,
  derTag,
  derTime,
  readDer,
} from '../base/der.js';
import type { DerNode } from '../base/der.js';
import { Rejection } from '../base/errors.js';
import { crlBytesMax } from '../base/limits.js';
import {
  nameText,
  readExtensions,
  readSignature,
  readSignatureScheme,
  verifyCertificateSignature,
} from './certificate.js';
import type { Certificate, Extension, SignedObject } from './certificate.js';
import { keyUsage, keyUsageCrlSign } from './path.js';

export interface Crl extends SignedObject {
  readonly issuer: Uint8Array;
  readonly issuerText: string;
  /** Unix seconds. */
  readonly thisUpdate: number;
  /** Unix seconds; absent when the issuer gives none, and then the list is never fresh. */
  readonly nextUpdate?: number;
  /** cRLNumber, decimal. */
  readonly number?: string;
  /** Revoked serial numbers (lower-case hexadecimal of the INTEGER content) and the revocation time, Unix seconds. */
  readonly revoked: ReadonlyMap<string, number>;
  readonly extensions: ReadonlyMap<string, Extension>;
}

/** `good`: fresh and none of the serials is on it; `stale`: outside its window, so nothing is known. */
export type RevocationState = 'good' | 'revoked' | 'stale' | 'unknown';

const oidCrlNumber = '2.5.29.20';
const oidAuthorityKeyId = '2.5.29.35';

/** @throws Rejection CRL_SIZE, CRL_MALFORMED, CRL_DUPLICATE_ENTRY, X509_ALGORITHM, DER_MALFORMED */
export function parseCrl(der: Uint8Array): Crl {
  if (der.length > crlBytesMax) refuse('CRL_SIZE', `at most ${crlBytesMax} bytes`, `${der.length}`);
  const root = readDer(copyOf(der));
  derCheckDeep(root);
  const outer = derInside(root, derTag.sequence);
  if (outer.length !== 3) refuse('CRL_MALFORMED', 'three parts', `${outer.length}`);
  const [tbs, algorithm, signature] = outer as [DerNode, DerNode, DerNode];
  const scheme = readSignatureScheme(algorithm);
  const fields = derInside(tbs, derTag.sequence);
  if (derInteger(fields.shift()) !== 1n) refuse('CRL_MALFORMED', 'version 2', 'another version');
  if (!equalBytes(derExpect(fields.shift(), derTag.sequence).raw, algorithm.raw)) {
    refuse('X509_ALGORITHM', 'one algorithm inside and outside', 'two');
  }
  const issuer = derExpect(fields.shift(), derTag.sequence);
  const thisUpdate = derTime(fields.shift());
  const hasNext = fields[0]?.tag === derTag.utcTime || fields[0]?.tag === derTag.generalizedTime;
  const nextUpdate = hasNext ? derTime(fields.shift()) : undefined;
  const revoked = readEntries(fields[0]?.tag === derTag.sequence ? fields.shift() : undefined);
  const extensions = readExtensions(fields, 0xa0);
  for (const extension of extensions.values()) {
    if (extension.critical && extension.oid !== oidCrlNumber && extension.oid !== oidAuthorityKeyId) {
      refuse('CRL_CRITICAL_EXTENSION', 'only critical extensions that are understood', extension.oid);
    }
  }
  const number = extensions.get(oidCrlNumber);
  return {
    tbs: tbs.raw,
    scheme,
    signature: readSignature(scheme, derBitString(signature)),
    issuer: issuer.raw,
    issuerText: nameText(issuer),
    thisUpdate,
    ...(nextUpdate !== undefined && { nextUpdate }),
    ...(number !== undefined && { number: derInteger(readDer(number.value)).toString() }),
    revoked,
    extensions,
  };
}

/**
 * Signature and right to sign of the CRL's issuer.
 * @throws Rejection CRL_ISSUER, CRL_KEY_USAGE, X509_SIGNATURE
 */
export async function verifyCrl(crl: Crl, issuer: Certificate): Promise<void> {
  if (!equalBytes(crl.issuer, issuer.subject)) refuse('CRL_ISSUER', issuer.subjectText, crl.issuerText);
  const usage = keyUsage(issuer);
  if (usage !== undefined && usage[keyUsageCrlSign] !== true) refuse('CRL_KEY_USAGE', 'cRLSign', issuer.subjectText);
  await verifyCertificateSignature(crl, issuer);
}

/**
 * State of serials under one verified CRL as of `at`. A serial revoked by then counts even on a stale or later list; one
 * revoked afterwards does not, so that evidence can be judged as of its own time.
 */
export function revocationOf(crl: Crl, serials: readonly string[], at: number): RevocationState {
  if (serials.some((serial) => (crl.revoked.get(serial) ?? Infinity) <= at)) return 'revoked';
  const fresh = crl.nextUpdate !== undefined && crl.thisUpdate <= at && at < crl.nextUpdate;
  return fresh ? 'good' : 'stale';
}

function readEntries(list: DerNode | undefined): ReadonlyMap<string, number> {
  const revoked = new Map<string, number>();
  for (const entry of list === undefined ? [] : derChildren(list)) {
    const [serial, date] = derInside(entry, derTag.sequence);
    derInteger(serial);
    const key = toHex(serial!.content);
    if (revoked.has(key)) refuse('CRL_DUPLICATE_ENTRY', 'each serial once', key);
    revoked.set(key, derTime(date));
  }
  return revoked;
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'RFC 5280 §5' });
}
