/**
 * Certificates that a guest's evidence lacks because its hypervisor handed none over: the VCEK of the reported chip and TCB,
 * and its issuers, from AMD's service. They lie outside REPORT_DATA, so whoever carries the evidence may add them.
 */
import {
  candidateProducts,
  parseCertificate,
  parsePemCertificates,
  parseSnpReport,
  productLayout,
  readSnpEndorsement,
  readTcb,
  tcbText,
  type Certificate,
  type SnpProduct,
  type SnpReport,
} from '#attestation';
import { CodedError, CollateralError, equalBytes, Rejection } from '#attestation/base';
import { encodeSessionEvidence, parseSessionEvidence } from '#attestation/records';
import { AmdKds, type CollateralStore } from '#libs/collateral';
import { note } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';

/** The same enclave, whose evidence is shown with its certificates. */
export function withEndorsements(enclave: EnclaveClient, store: CollateralStore): EnclaveClient {
  return {
    ...enclave,
    async request(type, body) {
      const answer = await enclave.request(type, body);
      return type === 'attest' ? endorsed(answer, store) : answer;
    },
  };
}

/**
 * @returns the evidence as it is where nothing is missing, or nothing can be fetched for its kind
 * @throws Rejection HOST_ENDORSEMENT where the service does not know the chip at its TCB; CollateralError
 *   HOST_ENDORSEMENT_AWAY where it could not be asked
 */
export async function endorsed(encoded: Uint8Array, store: CollateralStore): Promise<Uint8Array> {
  const evidence = parseSessionEvidence(encoded);
  if (evidence.cpu.kind !== 'snp') return encoded;
  const report = parseSnpReport(evidence.cpu.report);
  const given = evidence.cpu.certificates.flatMap(readable);
  const leaf = given.find((certificate) => endorses(certificate, report));
  if (leaf !== undefined && hasIssuers(leaf, given)) return encoded;
  // A loaded key endorses what no address is known for, and a masked chip has no address.
  if (leaf === undefined && (report.signingKey !== 'vcek' || report.chipId.every((byte) => byte === 0))) return encoded;
  const kds = new AmdKds(store);
  const [product, bytes] =
    leaf === undefined ? await fetchVcek(kds, report) : [candidateProducts(report)[0]!, leaf.raw];
  const issuers = await fetchIssuers(kds, product, report).catch((error: unknown) => {
    // A verifier may know them by itself.
    if (!(error instanceof CodedError)) throw error;
    note('endorsements', error);
    return given.filter((certificate) => certificate !== leaf && !isLeaf(certificate)).map(({ raw }) => raw);
  });
  return encodeSessionEvidence({ ...evidence, cpu: { ...evidence.cpu, certificates: [bytes, ...issuers] } });
}

/**
 * The certificate of the chip's key and the one of its issuer, as the chain verifies them.
 * @throws Rejection HOST_ENDORSEMENT where one of them is missing
 */
export function leafAndIssuer(certificates: readonly Uint8Array[]): {
  readonly leaf: Uint8Array;
  readonly issuer: Uint8Array;
} {
  const given = certificates.flatMap(readable);
  const leaf = given.find(isLeaf);
  const issuer = given.find(({ subject }) => leaf !== undefined && equalBytes(subject, leaf.issuer));
  if (leaf === undefined || issuer === undefined) throw unknownChip('evidence without them', 'and its issuer');
  return { leaf: leaf.raw, issuer: issuer.raw };
}

/** Of a report of version 2, which names no product, the first whose service knows the chip. */
async function fetchVcek(kds: AmdKds, report: SnpReport): Promise<readonly [SnpProduct, Uint8Array]> {
  const products = candidateProducts(report);
  for (const product of products) {
    const tcb = readTcb(report.reportedTcb, productLayout[product]);
    try {
      const { body } = await kds.vcek(product, report.chipId, tcb);
      if (endorses(parseCertificate(body), report)) return [product, body];
      throw unknownChip(`a certificate of another chip or TCB`, `${product} at ${tcbText(tcb)}`);
    } catch (error) {
      const isUnknown = error instanceof CollateralError && error.code === 'COLLATERAL_NOT_FOUND';
      if (!isUnknown) throw error instanceof CollateralError ? away(error) : error;
    }
  }
  throw unknownChip('none', products.join(' or '));
}

async function fetchIssuers(kds: AmdKds, product: SnpProduct, { signingKey }: SnpReport): Promise<Uint8Array[]> {
  const { body } = await kds.chain(product, signingKey === 'vlek' ? 'vlek' : 'vcek');
  return parsePemCertificates(Buffer.from(body).toString('latin1')).map(({ raw }) => raw);
}

/** What cannot be read is not there. */
function readable(bytes: Uint8Array): readonly Certificate[] {
  try {
    return [parseCertificate(bytes)];
  } catch (error) {
    if (error instanceof Rejection) return [];
    throw error;
  }
}

function isLeaf(certificate: Certificate): boolean {
  try {
    return readSnpEndorsement(certificate) !== null;
  } catch (error) {
    if (error instanceof Rejection) return false;
    throw error;
  }
}

/** Whether it is of this chip, or under a VLEK of any, at the reported TCB: one that the firmware has outgrown is no use. */
function endorses(certificate: Certificate, report: SnpReport): boolean {
  if (!isLeaf(certificate)) return false;
  const leaf = readSnpEndorsement(certificate);
  if (leaf.kind !== report.signingKey) return false;
  const isChip =
    leaf.kind === 'vlek' ||
    report.chipId.every((byte) => byte === 0) ||
    equalBytes(leaf.hwid, report.chipId.subarray(0, leaf.hwid.length));
  return isChip && tcbText(leaf.tcb) === tcbText(readTcb(report.reportedTcb, leaf.layout));
}

function hasIssuers(leaf: Certificate, given: readonly Certificate[]): boolean {
  const issuerOf = (one: Certificate) => given.find(({ subject }) => equalBytes(subject, one.issuer));
  const intermediate = issuerOf(leaf);
  return intermediate !== undefined && issuerOf(intermediate) !== undefined;
}

const rule = 'host agent README, endorsements';

function unknownChip(got: string, where: string): Rejection {
  return new Rejection('HOST_ENDORSEMENT', {
    expected: `the VCEK of this chip at its reported TCB from AMD’s service (${where})`,
    got,
    rule,
    action:
      'check the firmware of this machine against AMD’s service, or have the hypervisor hand the certificates over',
  });
}

function away({ code, detail }: CollateralError): CollateralError {
  return new CollateralError('HOST_ENDORSEMENT_AWAY', {
    ...detail,
    got: `${code}: ${detail.got}`,
    rule,
    action: 'let this host reach AMD’s service or a mirror of it (endorsements.mirrors)',
  });
}
