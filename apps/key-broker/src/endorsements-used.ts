/** Of the material at hand what can bear on one session's evidence, within what a record may hold. */
import {
  equalBytes,
  parseCertificate,
  parseCrl,
  Rejection,
  type EndorsementRecord,
  type SessionEvidence,
} from '#attestation';

/** A manifest's file names the version that it is about; a report says its driver's in plain text. */
const versionPattern = /colloquialVersion="([^"]{1,64})"/;
const vbiosVersion = /^[0-9A-F]{2}(?:\.[0-9A-F]{2}){4}$/;

/** The record's lists end there. */
const most = { certificates: 24, crls: 16, ocsp: 32, rims: 8, advisories: 16 };

export function endorsementsUsed(material: EndorsementRecord, { cpu, gpus }: SessionEvidence): EndorsementRecord {
  const { certificates, crls, ocsp, rims, intel, advisories } = material;
  const isQuote = cpu.kind === 'tdx';
  const chain = [...cpu.certificates, ...certificates];
  return {
    certificates: certificates.slice(0, most.certificates),
    crls: (isQuote ? crls : crls.filter((crl) => isIssuedBy(crl, chain))).slice(0, most.crls),
    ocsp: gpus.length === 0 ? [] : ocsp.slice(0, most.ocsp),
    rims: rims.filter((rim) => gpus.some(({ report }) => isAbout(rim, report))).slice(0, most.rims),
    intel: isQuote ? intel : [],
    advisories: advisories.slice(0, most.advisories),
  };
}

/** By a name of the chain. A list that cannot be read stays: the verdict says so. */
function isIssuedBy(crl: Uint8Array, chain: readonly Uint8Array[]): boolean {
  const issuer = attempt(() => parseCrl(crl).issuer);
  if (issuer === undefined) return true;
  return chain.some((der) => {
    const certificate = attempt(() => parseCertificate(der));
    return (
      certificate !== undefined && [certificate.issuer, certificate.subject].some((name) => equalBytes(name, issuer))
    );
  });
}

/** Of a VBIOS any may be meant: the report has its version as bytes. */
function isAbout(rim: Uint8Array, report: Uint8Array): boolean {
  const version = versionPattern.exec(Buffer.from(rim).toString('utf8'))?.[1];
  if (version === undefined || vbiosVersion.test(version)) return true;
  return Buffer.from(report).includes(version);
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Rejection) return undefined;
    throw error;
  }
}
