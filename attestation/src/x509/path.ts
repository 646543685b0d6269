/**
 * Certificate paths after RFC 5280 §6.1, narrowed to what device vendors use: names chain, signatures hold, dates cover
 * `at`, CAs are CAs with room in their path length and the right to sign, no unknown critical extension, and the path
 * ends at a root pinned by the SHA-256 of its public key. Whatever root the evidence brings along has no weight.
 */
import { equalBytes } from '../base/bytes.js';
import { derBoolean, derInside, derInteger, derNamedBits, derTag, readDer } from '../base/der.js';
import { CollateralError, Rejection } from '../base/errors.js';
import { pathCertificatesMax, pathSignaturesMax, poolCertificatesMax } from '../base/limits.js';
import { verifyCertificateSignature } from './certificate.js';
import type { Certificate } from './certificate.js';

export interface PathRequest {
  readonly leaf: Certificate;
  /** Issuers in any order, roots included; untrusted. */
  readonly pool: readonly Certificate[];
  /** SHA-256 of SubjectPublicKeyInfo in hexadecimal. */
  readonly rootSpkiSha256: ReadonlySet<string>;
  /** Unix seconds. */
  readonly at: number;
  /** Seconds past notAfter that the caller's policy tolerates; what was tolerated is listed in the result. */
  readonly graceSeconds?: number;
  /**
   * The issuer writes the leaf anew at every request, so its notBefore says when it was fetched and nothing about the
   * key: do not hold it against `at`.
   */
  readonly leafIssuedOnDemand?: boolean;
  /** Critical extensions that the caller itself interprets. */
  readonly knownCritical?: ReadonlySet<string>;
}

export interface VerifiedPath {
  /** Leaf first, pinned root last. */
  readonly certificates: readonly Certificate[];
  readonly root: Certificate;
  /** Certificates past their notAfter, within the grace. */
  readonly expired: readonly Certificate[];
}

export const oidBasicConstraints = '2.5.29.19';
const oidKeyUsage = '2.5.29.15';
const keyUsageDigitalSignature = 0;
const keyUsageCertSign = 5;
export const keyUsageCrlSign = 6;
const processed: ReadonlySet<string> = new Set([oidBasicConstraints, oidKeyUsage]);

/**
 * @throws Rejection X509_SIGNATURE, X509_PATH_ROOT, X509_PATH_EXPIRED, X509_PATH_NOT_YET, X509_PATH_NOT_CA,
 *   X509_PATH_LENGTH, X509_PATH_KEY_USAGE, X509_PATH_CRITICAL_EXTENSION, X509_PATH_TOO_LONG
 * @throws CollateralError X509_PATH_ISSUER_MISSING when the pool has no certificate of an issuer's name
 */
export async function verifyPath(request: PathRequest): Promise<VerifiedPath> {
  if (request.pool.length > poolCertificatesMax) {
    refuse('X509_PATH_TOO_LONG', `at most ${poolCertificatesMax} issuers`, `${request.pool.length}`);
  }
  const certificates = await climb(request, [request.leaf], { left: pathSignaturesMax });
  const expired = certificates.filter((certificate) => isExpired(certificate, request));
  certificates.forEach((certificate, index) => {
    checkExtensions(certificate, request.knownCritical ?? new Set());
    if (index === 0) checkLeaf(certificate);
    else checkIssuer(certificate, index - 1);
  });
  return { certificates, root: certificates[certificates.length - 1]!, expired };
}

/** keyUsage bits, or undefined when the certificate has no such extension. */
export function keyUsage(certificate: Certificate): readonly boolean[] | undefined {
  const extension = certificate.extensions.get(oidKeyUsage);
  return extension && derNamedBits(readDer(extension.value));
}

/** Depth first over issuers of the right name; a wrong signature tries the next one of that name. */
async function climb(
  request: PathRequest,
  path: readonly Certificate[],
  budget: { left: number },
): Promise<readonly Certificate[]> {
  const last = path[path.length - 1]!;
  if (request.rootSpkiSha256.has(last.spkiSha256) && path.length > 1) {
    await checkRoot(last);
    return path;
  }
  if (path.length >= pathCertificatesMax)
    refuse('X509_PATH_TOO_LONG', `at most ${pathCertificatesMax} certificates`, 'more');
  const selfIssued = equalBytes(last.issuer, last.subject);
  const issuers = request.pool.filter(
    (candidate) => equalBytes(candidate.subject, last.issuer) && !path.includes(candidate),
  );
  if (issuers.length === 0) return noIssuer(last, selfIssued);
  let failure: unknown;
  for (const issuer of issuers) {
    if (budget.left-- <= 0) refuse('X509_PATH_TOO_LONG', `at most ${pathSignaturesMax} signature checks`, 'more');
    try {
      await verifyCertificateSignature(last, issuer);
      return await climb(request, [...path, issuer], budget);
    } catch (error) {
      if (!(error instanceof Rejection) && !(error instanceof CollateralError)) throw error;
      failure ??= error;
    }
  }
  throw failure;
}

/** The pin covers the key alone: without its own signature every other field of a root could have been altered. */
async function checkRoot(root: Certificate): Promise<void> {
  if (!equalBytes(root.issuer, root.subject)) refuse('X509_PATH_ROOT', 'a self-signed root', root.issuerText);
  await verifyCertificateSignature(root, root);
}

function noIssuer(last: Certificate, selfIssued: boolean): never {
  if (selfIssued) refuse('X509_PATH_ROOT', 'a root of the pinned list', `${last.subjectText}, SPKI ${last.spkiSha256}`);
  throw new CollateralError('X509_PATH_ISSUER_MISSING', {
    expected: `the certificate of ${last.issuerText}`,
    got: 'none in the endorsements',
    rule: 'RFC 5280 §6.1.3',
    action: 'supply the issuing certificate',
  });
}

function isExpired(certificate: Certificate, request: PathRequest): boolean {
  const fetchedLater = request.leafIssuedOnDemand === true && certificate === request.leaf;
  if (request.at < certificate.notBefore && !fetchedLater) {
    refuse('X509_PATH_NOT_YET', `notBefore ≤ ${request.at}`, `${certificate.notBefore} in ${certificate.subjectText}`);
  }
  if (request.at > certificate.notAfter + (request.graceSeconds ?? 0)) {
    refuse('X509_PATH_EXPIRED', `notAfter ≥ ${request.at}`, `${certificate.notAfter} in ${certificate.subjectText}`);
  }
  return request.at > certificate.notAfter;
}

function checkExtensions(certificate: Certificate, known: ReadonlySet<string>): void {
  for (const extension of certificate.extensions.values()) {
    if (extension.critical && !processed.has(extension.oid) && !known.has(extension.oid)) {
      refuse('X509_PATH_CRITICAL_EXTENSION', 'only critical extensions that are understood', extension.oid);
    }
  }
}

function checkLeaf(leaf: Certificate): void {
  const usage = keyUsage(leaf);
  if (usage !== undefined && usage[keyUsageDigitalSignature] !== true) {
    refuse('X509_PATH_KEY_USAGE', 'digitalSignature', leaf.subjectText);
  }
}

/** @param below  intermediates between this CA and the leaf */
function checkIssuer(certificate: Certificate, below: number): void {
  const extension = certificate.extensions.get(oidBasicConstraints);
  const fields = extension ? derInside(readDer(extension.value), derTag.sequence) : [];
  const isCa = fields[0]?.tag === derTag.boolean && derBoolean(fields[0]);
  if (!isCa) refuse('X509_PATH_NOT_CA', 'basicConstraints with cA true', certificate.subjectText);
  const room = fields[1] === undefined ? undefined : derInteger(fields[1]);
  if (room !== undefined && room < BigInt(below)) refuse('X509_PATH_LENGTH', `pathLenConstraint ≥ ${below}`, `${room}`);
  const usage = keyUsage(certificate);
  if (usage !== undefined && usage[keyUsageCertSign] !== true) {
    refuse('X509_PATH_KEY_USAGE', 'keyCertSign', certificate.subjectText);
  }
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'RFC 5280 §6.1' });
}
