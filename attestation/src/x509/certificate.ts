/** X.509 v3 certificates, read strictly from DER (RFC 5280 §4); every byte of the input is accounted for. */
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, copyOf, equalBytes, toHex } from '../base/bytes.js';
import {
  derBitString,
  derBoolean,
  derCheckDeep,
  derChildren,
  derExpect,
  derInside,
  derInteger,
  derOid,
  derTag,
  derTime,
  readDer,
} from '../base/der.js';
import type { DerNode } from '../base/der.js';
import { Rejection } from '../base/errors.js';
import { certificateBytesMax, extensionsMax } from '../base/limits.js';
import { readPem } from '../base/pem.js';
import { ecdsaFromDer, verifySignature } from '../base/signatures.js';
import type { SignatureScheme } from '../base/signatures.js';

export interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  /** Content of the OCTET STRING. */
  readonly value: Uint8Array;
}

export interface Certificate {
  /** DER of the whole certificate. */
  readonly raw: Uint8Array;
  /** The signed part. */
  readonly tbs: Uint8Array;
  /** Lower-case hexadecimal of the INTEGER content. */
  readonly serial: string;
  /** DER Name. */
  readonly subject: Uint8Array;
  readonly issuer: Uint8Array;
  /** For people: `CN=…, O=…` in the order of the certificate; decide nothing by it. */
  readonly subjectText: string;
  readonly issuerText: string;
  /** Unix seconds, both inclusive. */
  readonly notBefore: number;
  readonly notAfter: number;
  /** SubjectPublicKeyInfo, DER, and its SHA-256 in hexadecimal. */
  readonly spki: Uint8Array;
  readonly spkiSha256: string;
  readonly scheme: SignatureScheme;
  /** ECDSA: r ‖ s; RSA: the signature integer. */
  readonly signature: Uint8Array;
  readonly extensions: ReadonlyMap<string, Extension>;
}

/**
 * @throws Rejection X509_SIZE, X509_MALFORMED, X509_ALGORITHM, X509_DUPLICATE_EXTENSION, DER_MALFORMED, SIGNATURE_RANGE
 */
export function parseCertificate(der: Uint8Array): Certificate {
  if (der.length > certificateBytesMax) refuse('X509_SIZE', `at most ${certificateBytesMax} bytes`, `${der.length}`);
  const raw = copyOf(der);
  const root = readDer(raw);
  derCheckDeep(root);
  const outer = derInside(root, derTag.sequence);
  if (outer.length !== 3) refuse('X509_MALFORMED', 'three parts', `${outer.length}`);
  const [tbs, algorithm, signature] = outer as [DerNode, DerNode, DerNode];
  const scheme = readSignatureScheme(algorithm);
  const fields = derInside(tbs, derTag.sequence);
  const [version, serial, inner, issuer, validity, subject, spki, ...rest] = fields;
  if (derInteger(derInside(version, 0xa0)[0]) !== 2n) refuse('X509_MALFORMED', 'version 3', 'another version');
  if (!equalBytes(derExpect(inner, derTag.sequence).raw, algorithm.raw)) {
    refuse('X509_ALGORITHM', 'one algorithm inside and outside', 'two');
  }
  derInteger(serial);
  const times = derInside(validity, derTag.sequence);
  const signatureBits = derBitString(signature);
  const publicKey = derExpect(spki, derTag.sequence).raw;
  return {
    raw,
    tbs: tbs.raw,
    serial: toHex(serial!.content),
    subject: derExpect(subject, derTag.sequence).raw,
    issuer: derExpect(issuer, derTag.sequence).raw,
    subjectText: nameText(subject!),
    issuerText: nameText(issuer!),
    notBefore: derTime(times[0]),
    notAfter: derTime(times[1]),
    spki: publicKey,
    spkiSha256: toHex(sha256(publicKey)),
    scheme,
    signature: readSignature(scheme, signatureBits),
    extensions: readExtensions(rest, 0xa3),
  };
}

/** The certificates of a PEM text, in order. @throws Rejection of `readPem` and `parseCertificate` */
export function parsePemCertificates(pem: string): Certificate[] {
  return readPem(pem).map((der) => parseCertificate(der));
}

/**
 * @throws Rejection X509_SIGNATURE when the issuer's key did not sign the certificate
 */
export async function verifyCertificateSignature(child: SignedObject, issuer: Certificate): Promise<void> {
  try {
    await verifySignature(child.scheme, issuer.spki, child.signature, child.tbs);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    refuse('X509_SIGNATURE', `a signature by ${issuer.subjectText}`, error.code);
  }
}

/** What certificates and CRLs have in common. */
export interface SignedObject {
  readonly tbs: Uint8Array;
  readonly scheme: SignatureScheme;
  readonly signature: Uint8Array;
}

const schemeOids: Readonly<Record<string, SignatureScheme>> = {
  '1.2.840.10045.4.3.2': 'ecdsa-p256-sha256',
  '1.2.840.10045.4.3.3': 'ecdsa-p384-sha384',
  '1.2.840.113549.1.1.11': 'rsa-pkcs1-sha256',
};

/** RSASSA-PSS-params of RFC 4055 §3.1: SHA-384, MGF1 with SHA-384, salt 48, trailer field at its default. */
const pssOid = '1.2.840.113549.1.1.10';
const sha384Oid = '2.16.840.1.101.3.4.2.2';
const mgf1Oid = '1.2.840.113549.1.1.8';

export function readSignatureScheme(algorithm: DerNode): SignatureScheme {
  const parts = derInside(algorithm, derTag.sequence);
  const oid = derOid(parts[0]);
  if (oid === pssOid) return readPss(parts[1]);
  const scheme = schemeOids[oid];
  if (scheme === undefined) return refuse('X509_ALGORITHM', 'an algorithm of the allow-list', oid);
  const bare =
    parts.length === 1 || (scheme === 'rsa-pkcs1-sha256' && parts.length === 2 && parts[1]!.tag === derTag.null);
  return bare ? scheme : refuse('X509_ALGORITHM', 'no parameters', 'parameters');
}

function readPss(parameters: DerNode | undefined): SignatureScheme {
  const fields = derInside(parameters, derTag.sequence);
  const salt = derInteger(derInside(fields[2], 0xa2)[0]);
  const hash = derOid(derInside(derInside(fields[0], 0xa0)[0], derTag.sequence)[0]);
  const mask = derInside(derInside(fields[1], 0xa1)[0], derTag.sequence);
  const maskHash = derOid(derInside(mask[1], derTag.sequence)[0]);
  const trailer = fields[3] === undefined ? 1n : derInteger(derInside(fields[3], 0xa3)[0]);
  if (hash !== sha384Oid || derOid(mask[0]) !== mgf1Oid || maskHash !== sha384Oid || salt !== 48n || trailer !== 1n) {
    refuse('X509_ALGORITHM', 'RSASSA-PSS with SHA-384, MGF1 SHA-384, salt 48', `${hash}, salt ${salt}`);
  }
  return 'rsa-pss-sha384';
}

export function readSignature(scheme: SignatureScheme, bits: Uint8Array): Uint8Array {
  switch (scheme) {
    case 'ecdsa-p256-sha256':
    case 'ecdsa-p384-sha384':
      return ecdsaFromDer(bits, scheme);
    case 'rsa-pss-sha384':
    case 'rsa-pkcs1-sha256':
      return bits;
  }
}

/** Optional [tag] EXPLICIT Extensions at the end of a signed part; issuer and subject unique ids are refused. */
export function readExtensions(rest: readonly DerNode[], tag: number): ReadonlyMap<string, Extension> {
  const extensions = new Map<string, Extension>();
  if (rest.length === 0) return extensions;
  if (rest.length > 1) refuse('X509_MALFORMED', 'extensions at most', `${rest.length} parts`);
  const wrapped = derInside(rest[0], tag);
  const list = derInside(wrapped[0], derTag.sequence);
  if (wrapped.length !== 1 || list.length > extensionsMax) {
    refuse('X509_MALFORMED', `at most ${extensionsMax} extensions`, `${list.length}`);
  }
  for (const item of list) {
    const parts = derInside(item, derTag.sequence);
    const oid = derOid(parts[0]);
    const critical = parts.length === 3 && derBoolean(parts[1]);
    if (parts.length < 2 || parts.length > 3) refuse('X509_MALFORMED', 'id, critical, value', `${parts.length} parts`);
    if (extensions.has(oid)) refuse('X509_DUPLICATE_EXTENSION', 'each extension once', oid);
    extensions.set(oid, { oid, critical, value: derExpect(parts[parts.length - 1], derTag.octetString).content });
  }
  return extensions;
}

const nameLabels: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.5': 'serialNumber',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
};

export function nameText(name: DerNode): string {
  const parts = derInside(name, derTag.sequence).flatMap((set) => derInside(set, derTag.set));
  return parts
    .map((pair) => {
      const [type, value] = derChildren(pair);
      const oid = derOid(type);
      return `${nameLabels[oid] ?? oid}=${printable(value)}`;
    })
    .join(', ');
}

function printable(value: DerNode | undefined): string {
  const text = new TextDecoder().decode(value?.content ?? concatBytes());
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '?').slice(0, 200);
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'RFC 5280 §4' });
}
