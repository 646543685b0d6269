/** Evidence and endorsements as files: what a reviewer holds in hands, in the form that is appraised. */
import {
  checkHclBinding,
  endorsementsOfSession,
  evidenceOfSession,
  parseAdvisories,
  parseCollateralBundle,
  parseGpuEvidence,
  parseHclReport,
  parsePemCertificates,
  parseSnpReport,
  readSession,
  snpReportBytes,
  type Endorsements,
  type Evidence,
  type FileKind,
  type SuppliedAdvisories,
} from '#attestation';
import { fromUtf8 } from '#attestation/base';
import { readBytes } from '#libs/client/files';

export interface MaterialFiles {
  readonly cert: readonly string[];
  readonly rim: readonly string[];
  readonly crl: readonly string[];
  readonly ocsp: readonly string[];
  readonly collateral?: string;
  readonly advisories?: readonly string[];
}

const certificateFileMax = 256 * 1024;
const listFileMax = 1024 * 1024;
const rimFileMax = 1024 * 1024;
const ocspFileMax = 64 * 1024;
const advisoriesFileMax = 1024 * 1024;
const collateralFileMax = 4 * 1024 * 1024;

/** @throws ConfigurationError FILE_*; Rejection X509_PEM, QUOTE_COLLATERAL_* when a file is none of what it should be */
export function readEndorsements(files: MaterialFiles): Endorsements {
  const collateral =
    files.collateral && parseCollateralBundle(fromUtf8(readBytes(files.collateral, collateralFileMax)));
  return {
    certificates: files.cert.flatMap(readCertificates),
    crls: [...files.crl.map(readRevocationList), ...(collateral ? collateral.crls : [])],
    rims: files.rim.map((path) => readBytes(path, rimFileMax)),
    ocspAnswers: files.ocsp.map((path) => ({ response: readBytes(path, ocspFileMax) })),
    ...(collateral && { collateral: collateral.collateral }),
    ...(files.advisories && { advisories: files.advisories.map(readAdvisories) }),
  };
}

/** Signed ones count by a key of the policy; JSON counts as whoever gives it to this command vouches for it. */
function readAdvisories(path: string): SuppliedAdvisories {
  const bytes = readBytes(path, advisoriesFileMax);
  return bytes[0] === 0xd2 ? bytes : parseAdvisories(fromUtf8(bytes));
}

/** DER, or PEM of one or many. */
function readCertificates(path: string): Uint8Array[] {
  const bytes = readBytes(path, certificateFileMax);
  return bytes[0] === 0x30 ? [bytes] : parsePemCertificates(fromUtf8(bytes)).map(({ raw }) => raw);
}

/** DER of a file in DER or PEM, not yet looked into. @throws ConfigurationError FILE_* */
export function readRevocationList(path: string): Uint8Array {
  const bytes = readBytes(path, listFileMax);
  if (bytes[0] === 0x30) return bytes;
  const [, body] = /-----BEGIN X509 CRL-----([^-]+)-----END X509 CRL-----/.exec(new TextDecoder().decode(bytes)) ?? [];
  return body === undefined ? bytes : new Uint8Array(Buffer.from(body, 'base64'));
}

/** What is appraised: one piece, or one per GPU of NVIDIA's JSON. */
export interface Piece {
  readonly evidence: Evidence;
  readonly endorsements: Endorsements;
}

/** @throws Rejection when the file is not what `kind` says */
export function readPieces(bytes: Uint8Array, kind: FileKind, endorsements: Endorsements): readonly Piece[] {
  const one = (evidence: Evidence): readonly Piece[] => [{ evidence, endorsements }];
  switch (kind) {
    case 'snp':
      return one({ kind, report: bytes });
    case 'hcl': {
      const hcl = parseHclReport(bytes);
      if (hcl.report.length === snpReportBytes) checkHclBinding(hcl, parseSnpReport(hcl.report).reportData);
      return one({ kind: 'snp', report: hcl.report });
    }
    case 'tdx':
    case 'sgx':
      return one({ kind, quote: bytes });
    case 'nitro':
      return one({ kind, document: bytes });
    case 'nvidia':
      return one({ kind, report: bytes, certificateChain: endorsements.certificates });
    case 'nvidia-json':
      return parseGpuEvidence(bytes).map(({ report, certificateChain }) => ({
        evidence: { kind: 'nvidia', report, certificateChain },
        endorsements,
      }));
    case 'session': {
      const session = readSession(bytes);
      return [{ evidence: evidenceOfSession(session), endorsements: endorsementsOfSession(session, endorsements) }];
    }
  }
}
