/** What reference manifests and OCSP answers say about authentic GPU evidence. */
import type { CheckBook, CheckStatus } from '../check/checks.js';
import type { Certificate } from '../x509/certificate.js';
import type { AppraisalCode } from './codes.js';
import { ocspAnswersMax } from './constants.js';
import type { Firmware } from './device.js';
import type { RimRole } from './manifest.js';
import { compareMeasurements } from './measurements.js';
import { judgeRevocation, readAnswers, type JudgedRevocation, type OcspAnswer } from './ocsp.js';
import { judgeRim, type RimFile, type RimJudgement } from './rim.js';
import type { SpdmReport } from './spdm.js';

interface RimClaims {
  readonly tagId: string;
  readonly version: string;
  readonly authentic: boolean;
  /** Seconds since 1970 between which every certificate of the signer's path is valid. */
  readonly notBefore?: number;
  readonly notAfter?: number;
}

export interface CollateralClaims {
  readonly driverRim?: RimClaims;
  readonly vbiosRim?: RimClaims;
  /** `undecided` unless both manifests are authentic and for this version. */
  readonly measurements: 'match' | 'mismatch' | 'undecided';
  /** RIM indexes that differ. */
  readonly mismatched: readonly number[];
  /** By certificate subject: device chain and both signers' chains, without leaf of the device and roots. */
  readonly revocation: readonly CertificateState[];
}

interface CertificateState extends JudgedRevocation {
  readonly subject: string;
  readonly serial: string;
}

interface CollateralRequest {
  readonly report: SpdmReport;
  readonly firmware: Firmware;
  readonly chip: string;
  /** Device path, leaf first, root last. */
  readonly path: readonly Certificate[];
  readonly rims: readonly RimFile[];
  readonly ocspAnswers: readonly OcspAnswer[];
  readonly pins: { readonly rim: readonly string[] };
  readonly anchors?: readonly Certificate[];
  readonly at: number;
  readonly graceSeconds?: number;
}

export async function appraiseCollateral(
  request: CollateralRequest,
  book: CheckBook<AppraisalCode>,
): Promise<CollateralClaims> {
  const [driver, vbios] = await Promise.all([
    appraiseRim('driver', request.firmware.driverVersion, request, book),
    appraiseRim('vbios', request.firmware.vbiosVersion, request, book),
  ]);
  const measured = appraiseMeasurements(request, driver, vbios, book);
  const paths = [request.path.slice(1), driver?.path ?? [], vbios?.path ?? []];
  const revocation = await appraiseRevocation(paths, request, book);
  return {
    ...(driver?.claims && { driverRim: driver.claims }),
    ...(vbios?.claims && { vbiosRim: vbios.claims }),
    ...measured,
    revocation,
  };
}

interface JudgedRim extends RimJudgement {
  readonly claims?: RimClaims;
  readonly usable: boolean;
}

/**
 * Picks the manifest of this role for the reported version, else the next best, and settles its checks. A forged
 * manifest makes authentic evidence refused, not forged.
 */
async function appraiseRim(
  role: RimRole,
  version: string,
  request: CollateralRequest,
  book: CheckBook<AppraisalCode>,
): Promise<JudgedRim | undefined> {
  const prefix = `NVIDIA_${role === 'driver' ? 'DRIVER' : 'VBIOS'}_RIM` as const;
  const fits = ({ manifest }: RimFile): boolean => manifest?.version === version && manifest.product === request.chip;
  const ofRole = request.rims.filter((rim) => rim.manifest === undefined || rim.manifest.role === role);
  const file = ofRole.find(fits) ?? ofRole.find((rim) => rim.manifest !== undefined) ?? ofRole[0];
  book.settle(`${prefix}_ABSENT`, file === undefined ? 'missing' : 'met', file === undefined ? 'none' : 'given');
  if (file === undefined) return undefined;
  const rootSpkiSha256 = new Set(request.pins.rim);
  const judged = await judgeRim(file, {
    pool: (request.anchors ?? []).filter((anchor) => rootSpkiSha256.has(anchor.spkiSha256)),
    rootSpkiSha256,
    at: request.at,
    graceSeconds: request.graceSeconds ?? 0,
  });
  for (const [aspect, outcome] of judged.outcomes) {
    const status = outcome.status === 'forged' ? 'refused' : outcome.status;
    book.settle(`${prefix}_${aspect}`, status, outcome.got, outcome.expected);
  }
  const { manifest } = file;
  if (manifest === undefined) return { ...judged, usable: false };
  const seen = `${manifest.product} ${manifest.version}`;
  book.settle(`${prefix}_VERSION`, fits(file) ? 'met' : 'missing', seen, `${request.chip} ${version}`);
  const { tagId, version: stated } = manifest;
  const claims = { tagId, version: stated, authentic: judged.authentic, ...judged.validity };
  return { ...judged, claims, usable: fits(file) };
}

function appraiseMeasurements(
  request: CollateralRequest,
  driver: JudgedRim | undefined,
  vbios: JudgedRim | undefined,
  book: CheckBook<AppraisalCode>,
): Pick<CollateralClaims, 'measurements' | 'mismatched'> {
  const usable = [driver, vbios].filter((rim) => rim?.usable === true);
  const manifests = usable.flatMap((rim) => rim?.manifest ?? []);
  if (manifests.length < 2) return { measurements: 'undecided', mismatched: [] };
  const result = compareMeasurements(request.report, request.firmware.nvdec0, manifests);
  const { matched, mismatched, skipped, conflicts } = result;
  const authentic = usable.every((rim) => rim?.authentic === true);
  const lifted: CheckStatus = authentic ? 'met' : 'not-checked';
  book.settle('NVIDIA_RIM_INDEX_CONFLICT', conflicts.length > 0 ? 'refused' : lifted, conflicts.join(' ') || 'none');
  const got = `${matched.length} equal, ${skipped.length} skipped, different: ${mismatched.join(' ') || 'none'}`;
  book.settle('NVIDIA_MEASUREMENT_MISMATCH', mismatched.length > 0 ? 'refused' : lifted, got);
  const bad = mismatched.length + conflicts.length > 0;
  return { measurements: bad ? 'mismatch' : authentic ? 'match' : 'undecided', mismatched };
}

const negative = [
  ['revoked', 'NVIDIA_CERTIFICATE_REVOKED', 'refused'],
  ['on-hold', 'NVIDIA_CERTIFICATE_ON_HOLD', 'refused'],
  ['unknown', 'NVIDIA_CERTIFICATE_UNKNOWN', 'missing'],
  ['stale', 'NVIDIA_OCSP_STALE', 'missing'],
  ['forged', 'NVIDIA_OCSP_FORGED', 'missing'],
  ['missing', 'NVIDIA_OCSP_MISSING', 'missing'],
] as const;

/** Each path without its root; without any answer nothing is checked, which is a fact of its own. */
async function appraiseRevocation(
  paths: readonly (readonly Certificate[])[],
  request: CollateralRequest,
  book: CheckBook<AppraisalCode>,
): Promise<CollateralClaims['revocation']> {
  if (request.ocspAnswers.length === 0) return [];
  const answers = readAnswers(request.ocspAnswers.slice(0, ocspAnswersMax));
  const pairs = paths.flatMap((path) => path.slice(0, -1).map((subject, at) => [subject, path[at + 1]!] as const));
  const states = await Promise.all(
    pairs.map(async ([subject, issuer]) => ({
      subject: subject.subjectText,
      serial: subject.serial,
      ...(await judgeRevocation(subject, issuer, answers, request.at)),
    })),
  );
  const decided = states.every(({ state }) => state === 'good' || state === 'revoked' || state === 'on-hold');
  for (const [state, code, status] of negative) {
    const found = states.filter((item) => item.state === state).map((item) => item.subject);
    if (found.length > 0) book.settle(code, status, found.join('; '));
    else if (decided) book.settle(code, 'met', `${states.length} certificates answered for`);
  }
  return states;
}
