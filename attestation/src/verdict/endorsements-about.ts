/**
 * Selects the endorsements that can bear on one session's evidence. A store of endorsements serves many machines, and a
 * bundle holds those of all its sessions: endorsements of other machines must neither count nor use up the limits.
 */
import { endorsementsOfRecord } from '../appraisal/endorsements.js';
import type { Endorsements } from '../appraisal/evidence.js';
import { equalBytes, toHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { poolCertificatesMax } from '../base/limits.js';
import type { EndorsementRecord } from '../records/endorsement-record.js';
import type { ReportedSession } from '../records/evidence.js';
import { parseSnpReport } from '../snp/abi.js';
import { endorses } from '../snp/endorses.js';
import { isSnpLeaf, readSnpEndorsement } from '../snp/vcek.js';
import { parseCertificate, type Certificate } from '../x509/certificate.js';
import { parseCrl } from '../x509/crl.js';
import { merged, type ExtraMaterial } from './material.js';

/** A manifest's file names the version that it is about; a report says its driver's in plain text. */
const versionPattern = /colloquialVersion="([^"]{1,64})"/;
const signerPattern = /X509Certificate>([A-Za-z0-9+/=\s]{1,32768})</g;
const vbiosVersion = /^[0-9A-F]{2}(?:\.[0-9A-F]{2}){4}$/;

/** One for each platform that Intel's collateral is of; sessions on other machines need none of it, or another's. */
function materialsAbout(material: EndorsementRecord, session: ReportedSession): readonly Endorsements[] {
  const { intel, ...rest } = endorsementsAbout(material, session);
  const platforms = intel.length === 0 ? [[]] : intel.map((one) => [one]);
  return platforms.map((one) => endorsementsOfRecord({ ...rest, intel: one }));
}

/** The same with what a reader lays beside the bundle. */
export function materialsWith(
  material: EndorsementRecord,
  session: ReportedSession,
  { endorsements, advisories }: ExtraMaterial,
): readonly Endorsements[] {
  return materialsAbout(merged(material, endorsements), session).map((one) => ({
    ...one,
    advisories: [...(one.advisories ?? []), ...advisories],
  }));
}

/** What cannot be read stays: the verdict says so. */
export function endorsementsAbout(material: EndorsementRecord, session: ReportedSession): EndorsementRecord {
  const { certificates, crls, ocsp, rims, intel, advisories } = material;
  const { cpu, gpus } = session;
  const isQuote = cpu.kind === 'tdx';
  const own = isQuote ? certificates : certificatesOf(certificates, session);
  const chain = parsed([...cpu.certificates, ...own]);
  const reports = gpus.map(({ report }) => latin1(report));
  const manifests = rims.filter((rim) => isAbout(rim, reports));
  const ofGpus = [...gpus.flatMap((gpu) => gpu.certificates), ...manifests.flatMap(signersOf)];
  const serials = parsed(ofGpus).map(({ serial }) => serial);
  return {
    certificates: own.slice(0, Math.max(0, poolCertificatesMax - cpu.certificates.length)),
    crls: isQuote ? crls : crls.filter((crl) => isIssuedBy(crl, chain)),
    ocsp: ocsp.filter((answer) => containsSome(answer, serials)),
    rims: manifests,
    intel: isQuote ? intel : [],
    advisories,
  };
}

/** The leaf of the report's chip and firmware, and who stands above what came with the report. */
function certificatesOf(pool: readonly Uint8Array[], { cpu }: ReportedSession): readonly Uint8Array[] {
  const read = pool.map((der) => ({ der, certificate: attempt(() => parseCertificate(der)) }));
  const isLeaf = (one: Certificate): boolean => isSnpLeaf(one) && isOfReport(one, cpu.report);
  const chain = [
    ...parsed(cpu.certificates),
    ...read.flatMap(({ certificate: one }) => (one && isLeaf(one) ? one : [])),
  ];
  for (const one of chain) {
    const above = read.flatMap(({ certificate }) => certificate ?? []).filter((other) => isAbove(other, one));
    chain.push(...above.filter((other) => !chain.includes(other)));
  }
  return read.flatMap(({ der, certificate }) => (certificate === undefined || chain.includes(certificate) ? der : []));
}

function isAbove(issuer: Certificate, { issuer: name }: Certificate): boolean {
  return !isSnpLeaf(issuer) && equalBytes(issuer.subject, name);
}

function isOfReport(leaf: Certificate, report: Uint8Array): boolean {
  return attempt(() => endorses(readSnpEndorsement(leaf), parseSnpReport(report))) === true;
}

/** By a name of the chain. */
function isIssuedBy(crl: Uint8Array, chain: readonly Certificate[]): boolean {
  const issuer = attempt(() => parseCrl(crl).issuer);
  if (issuer === undefined) return true;
  return chain.some((one) => [one.issuer, one.subject].some((name) => equalBytes(name, issuer)));
}

/** Of a VBIOS any may be meant: the report has its version as bytes. @param reports as text */
function isAbout(rim: Uint8Array, reports: readonly string[]): boolean {
  if (reports.length === 0) return false;
  const version = versionPattern.exec(latin1(rim))?.[1];
  if (version === undefined || vbiosVersion.test(version)) return true;
  return reports.some((report) => report.includes(version));
}

/** Certificates that a manifest's signature brings along. */
function signersOf(rim: Uint8Array): Uint8Array[] {
  return [...latin1(rim).matchAll(signerPattern)].map(([, base64]) => {
    return Uint8Array.from(decodeBase64(base64!), (character) => character.charCodeAt(0));
  });
}

function decodeBase64(text: string): string {
  try {
    return atob(text.replaceAll(/\s/g, ''));
  } catch {
    return '';
  }
}

/** @param parts hexadecimal */
function containsSome(bytes: Uint8Array, parts: readonly string[]): boolean {
  const hex = toHex(bytes);
  return parts.some((part) => hex.includes(part));
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes);
}

function parsed(certificates: readonly Uint8Array[]): Certificate[] {
  return certificates.flatMap((der) => attempt(() => parseCertificate(der)) ?? []);
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Rejection) return undefined;
    throw error;
  }
}
