/** What a reader lays beside a bundle: files whose kind their own bytes tell, never their names. */
import { sha256 } from '@noble/hashes/sha2.js';
import { advisoriesContentType, parseAdvisories, type Advisories } from '../appraisal/advisories.js';
import { parsePolicy, type AppraisalPolicy } from '../appraisal/policy.js';
import { fromBase64, fromUtf8, toHex } from '../base/bytes.js';
import { readSign1 } from '../base/cose.js';
import { CodedError } from '../base/errors.js';
import { collateralBundleMax } from '../base/limits.js';
import { parseCollateralBundle } from '../intel/collateral.js';
import { parseOcspResponse } from '../nvidia/ocsp-response.js';
import { parseTrustPolicy, type TrustPolicy } from '../log/index.js';
import { noEndorsementRecord, type EndorsementRecord } from '../records/endorsement-record.js';
import { parseCertificate, parsePemCertificates } from '../x509/certificate.js';
import { parseCrl } from '../x509/crl.js';

export type MaterialKind = 'advisories' | 'certificates' | 'crl' | 'intel' | 'log-policy' | 'ocsp' | 'policy' | 'rim';

/** Material in the form in which it counts. */
export interface ReadMaterial {
  readonly kind: MaterialKind;
  readonly endorsements?: Partial<EndorsementRecord>;
  /** Not signed: whoever lays it there vouches for it. */
  readonly advisories?: Advisories;
  readonly policy?: AppraisalPolicy;
  readonly trust?: TrustPolicy;
}

/** A piece of material, and what became of it. */
export interface ShownMaterial {
  /** Of the file's bytes, hexadecimal. */
  readonly sha256: string;
  /** `unknown`: nothing that this reader knows. */
  readonly kind: MaterialKind | 'unknown';
  /** Whether some check comes out otherwise without it. */
  readonly counts: boolean;
}

export const materialPiecesMax = 64;

/**
 * Nothing is longer than Intel's collateral; each reader holds its kind to its own limit.
 * @returns undefined where nothing here can read it
 */
export function readMaterial(bytes: Uint8Array): ReadMaterial | undefined {
  if (bytes.length === 0 || bytes.length > collateralBundleMax) return undefined;
  if (bytes[0] === 0x30) return firstOf(bytes, readers.der);
  if (bytes[0] === 0xd2) return firstOf(bytes, [signedAdvisories]);
  const first = bytes.find((byte) => byte > 0x20);
  if (first === 0x2d) return firstOf(bytes, readers.pem);
  if (first === 0x7b) return firstOf(bytes, readers.json);
  if (first !== undefined && trustPolicyStarts.includes(first)) return firstOf(bytes, [trustPolicy]);
  return first === 0x3c || first === 0xef ? firstOf(bytes, [manifest]) : undefined;
}

type Reader = (bytes: Uint8Array) => ReadMaterial | undefined;

function firstOf(bytes: Uint8Array, tries: readonly Reader[]): ReadMaterial | undefined {
  for (const read of tries) {
    try {
      const found = read(bytes);
      if (found !== undefined) return found;
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
    }
  }
  return undefined;
}

const crl = (der: Uint8Array): ReadMaterial => {
  parseCrl(der);
  return { kind: 'crl', endorsements: { crls: [der] } };
};

const readers: Readonly<Record<'der' | 'pem' | 'json', readonly Reader[]>> = {
  der: [
    crl,
    (der) => {
      parseCertificate(der);
      return { kind: 'certificates', endorsements: { certificates: [der] } };
    },
    (der) => {
      parseOcspResponse(der);
      return { kind: 'ocsp', endorsements: { ocsp: [der] } };
    },
  ],
  pem: [
    (bytes) => {
      const [, body] = /-----BEGIN X509 CRL-----([^-]+)-----END X509 CRL-----/.exec(fromUtf8(bytes)) ?? [];
      return body === undefined ? undefined : crl(fromBase64(body.replaceAll(/\s/g, '')));
    },
    (bytes) => {
      const certificates = parsePemCertificates(fromUtf8(bytes)).map(({ raw }) => raw);
      return { kind: 'certificates', endorsements: { certificates } };
    },
  ],
  json: [
    (bytes) => ({ kind: 'policy', policy: parsePolicy(fromUtf8(bytes)) }),
    (bytes) => ({ kind: 'advisories', advisories: parseAdvisories(fromUtf8(bytes)) }),
    (bytes) => {
      parseCollateralBundle(fromUtf8(bytes));
      return { kind: 'intel', endorsements: { intel: [bytes] } };
    },
  ],
};

function signedAdvisories(bytes: Uint8Array): ReadMaterial | undefined {
  if (readSign1(bytes, 'tagged').contentType !== advisoriesContentType) return undefined;
  return { kind: 'advisories', endorsements: { advisories: [bytes] } };
}

function manifest(bytes: Uint8Array): ReadMaterial | undefined {
  if (!/<(?:[\w-]+:)?SoftwareIdentity[\s>]/.test(fromUtf8(bytes))) return undefined;
  return { kind: 'rim', endorsements: { rims: [bytes] } };
}

/** Of a comment, `log`, `witness`, `group` and `quorum`. */
const trustPolicyStarts: readonly number[] = [0x23, 0x6c, 0x77, 0x67, 0x71];

function trustPolicy(bytes: Uint8Array): ReadMaterial {
  return { kind: 'log-policy', trust: parseTrustPolicy(fromUtf8(bytes)) };
}

/** What counts beside the endorsements of a bundle. */
export interface ExtraMaterial {
  readonly endorsements: EndorsementRecord;
  readonly advisories: readonly Advisories[];
}

export function gathered(pieces: readonly (ReadMaterial | undefined)[]): ExtraMaterial {
  const records = pieces.flatMap((piece) => piece?.endorsements ?? []);
  return {
    endorsements: records.reduce<EndorsementRecord>(merged, noEndorsementRecord),
    advisories: pieces.flatMap((piece) => piece?.advisories ?? []),
  };
}

export function merged(a: EndorsementRecord, b: Partial<EndorsementRecord>): EndorsementRecord {
  return {
    certificates: [...a.certificates, ...(b.certificates ?? [])],
    crls: [...a.crls, ...(b.crls ?? [])],
    ocsp: [...a.ocsp, ...(b.ocsp ?? [])],
    rims: [...a.rims, ...(b.rims ?? [])],
    intel: [...a.intel, ...(b.intel ?? [])],
    advisories: [...a.advisories, ...(b.advisories ?? [])],
  };
}

export function shownMaterial(bytes: Uint8Array, read: ReadMaterial | undefined, counts: boolean): ShownMaterial {
  return { sha256: toHex(sha256(bytes)), kind: read?.kind ?? 'unknown', counts };
}
