/**
 * Verifies the evidence of one Hopper or Blackwell GPU, fully offline (attestation/EVIDENCE.md §3): report, device
 * chain, firmware id; then, for authentic evidence, reference manifests, measurements, revocation, nonce and mode.
 */
import { equalBytes, toHex } from '../base/bytes.js';
import { CollateralError, Rejection } from '../base/errors.js';
import { verifySignature } from '../base/signatures.js';
import { openChecks, authenticityOf, type CheckBook } from '../check/checks.js';
import type { Verified } from '../check/verified.js';
import { parseCertificate, parsePemCertificates, type Certificate } from '../x509/certificate.js';
import { keyUsage, oidBasicConstraints, verifyPath } from '../x509/path.js';
import { appraisalRules, authenticityRules, type AppraisalCode, type AuthenticityCode } from './codes.js';
import { appraiseCollateral, type CollateralClaims } from './collateral.js';
import { nvidiaPins } from './constants.js';
import { driverRimId, readFirmware, readIdentity, type DeviceIdentity, type Firmware } from './device.js';
import type { GpuMode } from './mode.js';
import type { OcspAnswer } from './ocsp.js';
import { rimReader, type RimReader } from './rim.js';
import { parseReport, type SpdmReport } from './spdm.js';

interface NvidiaPins {
  /** SHA-256 of the roots' SubjectPublicKeyInfo, hexadecimal. */
  readonly device: readonly string[];
  readonly rim: readonly string[];
}

export interface NvidiaEvidence {
  /** SPDM request ‖ response. */
  readonly report: Uint8Array;
  /** Device chain, leaf first, in its order: PEM text or DER certificates. The root may be left to `anchors`. */
  readonly certificateChain: string | readonly Uint8Array[];
  /** Reference manifests, XML files in any order; the ones for this driver and VBIOS are picked. */
  readonly rims: readonly Uint8Array[];
  /** What reads `rims` once for several GPUs. */
  readonly readRims?: RimReader;
  readonly ocspAnswers: readonly OcspAnswer[];
  /** The nonce that the verifier chose, 32 bytes; absent when the caller judges freshness itself. */
  readonly nonce?: Uint8Array;
  /** What measured guest code said of the GPUs, taken from claims that the CPU's evidence covers. */
  readonly mode?: GpuMode;
  /** Unix seconds. */
  readonly at: number;
  readonly pins?: NvidiaPins;
  /** Certificates at hand; only those with a pinned key are used, to end a chain that lacks its root. */
  readonly anchors?: readonly Certificate[];
  /** Seconds that the policy tolerates past the end of a manifest signer's validity; 0 by default. */
  readonly graceSeconds?: number;
}

export interface NvidiaClaims extends CollateralClaims {
  readonly architecture: 'hopper' | 'blackwell';
  readonly chip: string;
  /** Subject of the boot ROM's certificate, for people: `CN=GH100 A01 GSP BROM, …`. */
  readonly hardwareModel: string;
  /** The device under every firmware: use it for allow-lists and to find one GPU in two sessions. */
  readonly deviceId: string;
  readonly ueid: string;
  readonly driverVersion: string;
  readonly vbiosVersion: string;
  readonly driverRimId: string;
  readonly vbiosRimId: string;
  /** From the signed request, 32 bytes in hexadecimal. */
  readonly nonce: string;
  /** SHA-256 of the SubjectPublicKeyInfo of every certificate above the leaf, hexadecimal. */
  readonly issuers: readonly string[];
  readonly fwidPresent: boolean;
  readonly fwid: string;
  readonly feature?: 'spt' | 'mpt' | 'ppcie';
  readonly mode?: GpuMode;
  /** Unix seconds: when the first certificate, manifest or answer that this rests on ends, grace included. */
  readonly notAfter: number;
}

/** What the parts said on their own; absent when they could not be read. */
interface Parts {
  readonly report?: SpdmReport;
  readonly firmware?: Firmware;
  readonly chain?: readonly Certificate[];
  readonly identity?: DeviceIdentity;
  readonly path?: readonly Certificate[];
}

/** Throws nothing but bugs; every rule that was looked at is in `checks`, every other one stays `not-checked`. */
export async function verifyNvidia(evidence: NvidiaEvidence): Promise<Verified<NvidiaClaims>> {
  const book = openChecks<AuthenticityCode>(authenticityRules);
  const appraisal = openChecks<AppraisalCode>(appraisalRules);
  const parts = await verifyDevice(evidence, book);
  const authenticity = authenticityOf(book.checks());
  const { report, firmware, identity, path } = parts;
  if (authenticity !== 'authentic' || !report || !firmware || !identity || !path) {
    return { kind: 'nvidia', authenticity, checks: [...book.checks(), ...appraisal.checks()] };
  }
  appraiseIdentity(evidence, report, firmware, appraisal);
  const rims = await (evidence.readRims ?? rimReader(evidence.rims))();
  const collateral = await appraiseCollateral(
    { ...evidence, pins: evidence.pins ?? nvidiaPins, rims, report, firmware, chip: identity.chip, path },
    appraisal,
  );
  const claims: NvidiaClaims = {
    architecture: identity.architecture,
    chip: identity.chip,
    hardwareModel: path[1]!.subjectText,
    deviceId: identity.deviceId,
    ueid: identity.ueid,
    driverVersion: firmware.driverVersion,
    vbiosVersion: firmware.vbiosVersion,
    driverRimId: driverRimId(identity, firmware),
    vbiosRimId: firmware.vbiosRimId,
    nonce: toHex(report.nonce),
    issuers: path.slice(1).map(({ spkiSha256 }) => spkiSha256),
    fwidPresent: firmware.fwid !== undefined,
    fwid: toHex(identity.fwid),
    ...(firmware.feature !== undefined && { feature: firmware.feature }),
    ...(evidence.mode !== undefined && { mode: evidence.mode }),
    ...collateral,
    notAfter: endOf(path, collateral, evidence.graceSeconds ?? 0),
  };
  return { kind: 'nvidia', authenticity, checks: [...book.checks(), ...appraisal.checks()], claims };
}

function endOf(path: readonly Certificate[], collateral: CollateralClaims, graceSeconds: number): number {
  const { driverRim, vbiosRim, revocation } = collateral;
  const ofRims = [driverRim, vbiosRim].flatMap((rim) => rim?.notAfter ?? []).map((end) => end + graceSeconds);
  return Math.min(...[...path, ...revocation].flatMap(({ notAfter }) => notAfter ?? []), ...ofRims);
}

/** Every rule of authenticity on its own, so that a reader sees all that is wrong and not the first thing only. */
async function verifyDevice(evidence: NvidiaEvidence, book: CheckBook<AuthenticityCode>): Promise<Parts> {
  const parts: { -readonly [K in keyof Parts]: Parts[K] } = {};
  await book.attempt('NVIDIA_REPORT_FORM', () => {
    parts.report = parseReport(evidence.report);
    return `${parts.report.measurements.size} measurements`;
  });
  await book.attempt('NVIDIA_CHAIN_FORM', () => {
    const given = evidence.certificateChain;
    parts.chain = typeof given === 'string' ? parsePemCertificates(given) : given.map((der) => parseCertificate(der));
    return `${parts.chain.length} certificates`;
  });
  const { report, chain } = parts;
  const leaf = chain?.[0];
  if (report !== undefined) {
    await book.attempt('NVIDIA_REPORT_FIELDS', () => {
      parts.firmware = readFirmware(report);
      return `driver ${parts.firmware.driverVersion}, VBIOS ${parts.firmware.vbiosVersion}`;
    });
  }
  if (chain !== undefined && leaf !== undefined) {
    await book.attempt('NVIDIA_LEAF', () => {
      parts.identity = readLeaf(leaf);
      return `${parts.identity.chip} ${parts.identity.deviceId}`;
    });
  }
  await Promise.all([
    chain &&
      book.attempt('NVIDIA_CHAIN', async () => {
        parts.path = await verifyChain(chain, evidence);
        return parts.path.map((certificate) => certificate.subjectText).join(' < ');
      }),
    report && leaf && book.attempt('NVIDIA_REPORT_SIGNATURE', () => verifyReportSignature(report, leaf)),
  ]);
  compareFwid(parts, book);
  return parts;
}

/** @throws Rejection NVIDIA_LEAF_IDENTITY, NVIDIA_LEAF_FWID, NVIDIA_ARCHITECTURE, NVIDIA_LEAF_MISSING */
function readLeaf(leaf: Certificate): DeviceIdentity {
  if (leaf.extensions.has(oidBasicConstraints) || keyUsage(leaf)?.[0] !== true) {
    const expected = 'an attestation key that signs reports and is no CA';
    throw new Rejection('NVIDIA_LEAF_MISSING', {
      expected,
      got: leaf.subjectText,
      rule: 'attestation/EVIDENCE.md §3.3',
    });
  }
  return readIdentity(leaf);
}

/** The whole chain in its own order: nothing missing, nothing swapped, nothing beside it. */
async function verifyChain(chain: readonly Certificate[], evidence: NvidiaEvidence): Promise<readonly Certificate[]> {
  if (chain.length < 2) {
    const got = `${chain.length} certificate`;
    throw new Rejection('NVIDIA_CHAIN_LENGTH', {
      expected: 'a leaf and its issuers',
      got,
      rule: 'attestation/EVIDENCE.md §3.3',
    });
  }
  const rootSpkiSha256 = new Set((evidence.pins ?? nvidiaPins).device);
  const roots = (evidence.anchors ?? []).filter((anchor) => rootSpkiSha256.has(anchor.spkiSha256));
  const pool = [...chain.slice(1), ...roots];
  const request = { leaf: chain[0]!, pool, rootSpkiSha256, at: evidence.at };
  const { certificates } = await verifyPath(request).catch((error) => {
    if (!(error instanceof CollateralError)) throw error;
    // The device hands over its complete chain, so a gap is no missing collateral.
    throw new Rejection('NVIDIA_CHAIN_INCOMPLETE', { ...error.detail, rule: 'attestation/EVIDENCE.md §3.3' });
  });
  const ordered = chain.every((given, at) => given === certificates[at]) && certificates.length - chain.length <= 1;
  if (!ordered) {
    const got = `${chain.length} certificates in another order`;
    throw new Rejection('NVIDIA_CHAIN_ORDER', { expected: 'leaf to root', got, rule: 'attestation/EVIDENCE.md §3.3' });
  }
  return certificates;
}

/** @throws Rejection NVIDIA_REPORT_SIGNATURE @returns the key's SHA-256 */
async function verifyReportSignature(report: SpdmReport, leaf: Certificate): Promise<string> {
  try {
    await verifySignature('ecdsa-p384-sha384', leaf.spki, report.signature, report.signed);
    return leaf.spkiSha256;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    throw new Rejection('NVIDIA_REPORT_SIGNATURE', { ...error.detail, got: `${error.code}: ${error.detail.got}` });
  }
}

function compareFwid({ report, firmware, identity }: Parts, book: CheckBook<AuthenticityCode>): void {
  if (firmware === undefined || identity === undefined) {
    const reported = report?.opaque.get('FWID');
    if (reported !== undefined) book.settle('NVIDIA_FWID_MISMATCH', 'forged', `${toHex(reported)}, none in the leaf`);
  } else if (firmware.fwid === undefined) {
    book.drop('NVIDIA_FWID_MISMATCH');
  } else {
    const equal = equalBytes(firmware.fwid, identity.fwid);
    book.settle('NVIDIA_FWID_MISMATCH', equal ? 'met' : 'forged', toHex(firmware.fwid), toHex(identity.fwid));
  }
}

function appraiseIdentity(
  evidence: NvidiaEvidence,
  report: SpdmReport,
  firmware: Firmware,
  book: CheckBook<AppraisalCode>,
): void {
  const { nonce, mode } = evidence;
  if (nonce !== undefined) {
    book.settle('NVIDIA_NONCE', equalBytes(nonce, report.nonce) ? 'met' : 'refused', toHex(report.nonce), toHex(nonce));
  }
  const present = firmware.fwid !== undefined;
  book.settle('NVIDIA_FWID_ABSENT', present ? 'met' : 'warned', present ? toHex(firmware.fwid) : 'none');
  if (mode !== undefined) {
    const on = mode.ccFeature === 1 && mode.environment === 2;
    book.settle(
      'NVIDIA_CC_MODE_OFF',
      on ? 'met' : 'refused',
      `feature ${mode.ccFeature}, environment ${mode.environment}`,
    );
    book.settle('NVIDIA_CC_DEVTOOLS', mode.devToolsMode === 0 ? 'met' : 'refused', `${mode.devToolsMode}`);
  }
}
