/** What a machine says of itself in its evidence, and until when its certificates last: read, not judged. */
import {
  candidateProducts,
  parseCertificate,
  parsePemCertificates,
  parseQuote,
  parseSnpReport,
  productLayout,
  readTcb,
  tcbText,
  verifyNvidia,
  type Certificate,
  type Endorsements,
} from '#attestation';
import { fromBase64, toHex } from '#attestation/base';
import { type SessionEvidence } from '#attestation/records';

export interface CertificateDates {
  readonly subject: string;
  /** Unix seconds. */
  readonly notAfter: number;
}

export interface MachineFacts {
  readonly cpu: Readonly<Record<string, string>>;
  readonly gpus: readonly Readonly<Record<string, string>>[];
  /** Soonest to expire first. */
  readonly certificates: readonly CertificateDates[];
}

/** @throws Rejection when evidence or a certificate cannot be read */
export async function readFacts(
  { cpu, gpus }: SessionEvidence,
  endorsements: Endorsements,
  at: number,
): Promise<MachineFacts> {
  const certificates = new Map<string, Certificate>();
  const note = (certificate: Certificate): void => void certificates.set(toHex(certificate.raw), certificate);
  [...cpu.certificates, ...endorsements.certificates, ...gpus.flatMap((gpu) => gpu.certificates)]
    .map(parseCertificate)
    .forEach(note);
  if (cpu.kind === 'tdx') pckChain(cpu.report).forEach(note);
  endorsements.rims.flatMap(manifestSigners).forEach(note);
  const dates = [...certificates.values()].map(({ subjectText, notAfter }) => ({ subject: subjectText, notAfter }));
  const described = [];
  for (const { report, certificates: chain } of gpus) described.push(await gpuFacts(report, chain, at));
  return {
    cpu: cpu.kind === 'tdx' ? tdxFacts(cpu.report) : snpFacts(cpu.report, cpu.kind),
    gpus: described,
    certificates: dates.sort((a, b) => a.notAfter - b.notAfter),
  };
}

function snpFacts(bytes: Uint8Array, kind: string): Record<string, string> {
  const report = parseSnpReport(bytes);
  const product = candidateProducts(report)[0];
  const tcb = (value: Uint8Array): string =>
    product === undefined ? toHex(value) : tcbText(readTcb(value, productLayout[product]));
  const { major, minor, build } = report.currentVersion;
  return {
    kind,
    product: product ?? 'unknown',
    firmware: `${major}.${minor}.${build}`,
    'reported TCB': tcb(report.reportedTcb),
    'committed TCB': tcb(report.committedTcb),
    'current TCB': tcb(report.currentTcb),
    measurement: toHex(report.measurement),
    'chip id': toHex(report.chipId),
  };
}

function tdxFacts(bytes: Uint8Array): Record<string, string> {
  const { version, body } = parseQuote(bytes);
  return {
    kind: 'tdx',
    quote: `version ${version}`,
    ...(body.kind !== 'sgx' && {
      'TEE TCB SVN': toHex(body.report.teeTcbSvn),
      MRSEAM: toHex(body.report.mrSeam),
      MRTD: toHex(body.report.mrTd),
    }),
  };
}

function pckChain(bytes: Uint8Array): readonly Certificate[] {
  return parsePemCertificates(new TextDecoder().decode(parseQuote(bytes).pckChain).replace(/(?<!\0)\0+$/, ''));
}

/** Certificates inside a reference manifest; its signature is judged by the checks. */
function manifestSigners(xml: Uint8Array): Certificate[] {
  const blocks = [...new TextDecoder().decode(xml).matchAll(/<(?:\w+:)?X509Certificate>([A-Za-z0-9+/=\s]+)</g)];
  return blocks.slice(0, 8).map((block) => parseCertificate(fromBase64(block[1]!.replace(/\s/g, ''))));
}

async function gpuFacts(report: Uint8Array, chain: readonly Uint8Array[], at: number): Promise<Record<string, string>> {
  const { claims } = await verifyNvidia({ report, certificateChain: chain, rims: [], ocspAnswers: [], at });
  if (claims === undefined) return { kind: 'nvidia', state: 'not authentic' };
  const { architecture, chip, deviceId, driverVersion, vbiosVersion, driverRimId, vbiosRimId } = claims;
  return {
    kind: 'nvidia',
    architecture,
    chip,
    device: deviceId,
    driver: driverVersion,
    VBIOS: vbiosVersion,
    'driver RIM': driverRimId,
    'VBIOS RIM': vbiosRimId,
  };
}
